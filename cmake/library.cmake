# SPDX-License-Identifier: MIT
#
# The library, in the form that SKUA_FORM says, and the shared one beside it.
#
# The library that is installed, or built along with another project, is single: one file, from the text that
# tools/dist.py writes. What the files share is static in it, so that the compiler sees all of its uses, and a
# static library exports what is public and nothing else. Work on the library uses split, where a change
# compiles one file again.

file(GLOB SKUA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.c)
file(GLOB SKUA_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.h)

# Adds target in the form asked for. Whoever links with it needs no flag of ours.
function(skua_add_library target kind)
    if(SKUA_FORM STREQUAL "single")
        add_library(${target} ${kind} ${SKUA_SINGLE}/skua.c ${SKUA_SINGLE}/skua/skua.h)
        add_dependencies(${target} skua_single)
        # The tests see the header itself; others see the one in include/, which is the same without what it implements.
        if(SKUA_TESTS)
            target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${SKUA_SINGLE}>)
        else()
            target_include_directories(${target} PRIVATE ${SKUA_SINGLE})
        endif()
        # With one file there is nothing to optimise across files, and whoever links may not use this compiler.
        set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
        target_compile_options(${target} PRIVATE -fno-lto)
    else()
        add_library(${target} ${kind} ${SKUA_SOURCES})
        target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME skua)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/compat>
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/middleware>
        $<INSTALL_INTERFACE:include>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:skua_options> PUBLIC Threads::Threads)
    if(NOT SKUA_HTTP2)
        target_compile_definitions(${target} PRIVATE SKUA_NO_HTTP2)
    endif()
    if(NOT SKUA_WEBSOCKET)
        target_compile_definitions(${target} PRIVATE SKUA_NO_WEBSOCKET)
    endif()
    if(SKUA_TLS)
        target_compile_definitions(${target} PRIVATE SKUA_TLS)
        target_link_libraries(${target} PRIVATE OpenSSL::SSL OpenSSL::Crypto)
    endif()
    if(SKUA_REDIS)
        target_compile_definitions(${target} PRIVATE SKUA_REDIS)
        target_link_libraries(${target} PRIVATE PkgConfig::SKUA_REDIS_LIBRARY)
    endif()
    foreach(coding ${SKUA_CODINGS})
        string(REGEX REPLACE "=.*" "" coding ${coding})
        target_compile_definitions(${target} PRIVATE ${coding})
        target_link_libraries(${target} PRIVATE PkgConfig::${coding}_LIBRARY)
    endforeach()
endfunction()

if(SKUA_FORM STREQUAL "single")
    find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
    set(SKUA_SINGLE ${PROJECT_BINARY_DIR}/single)
    add_custom_command(
        OUTPUT ${SKUA_SINGLE}/skua/skua.h ${SKUA_SINGLE}/names.h
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/dist.py --lines
            --out ${SKUA_SINGLE}/skua/skua.h --names ${SKUA_SINGLE}/names.h
        COMMAND ${CMAKE_COMMAND} -E touch ${SKUA_SINGLE}/skua/skua.h ${SKUA_SINGLE}/names.h
        DEPENDS ${SKUA_SOURCES} ${SKUA_HEADERS} include/skua/skua.h tools/dist.py tools/c_names.py
        COMMENT "Writing the single header")
    # Both libraries need it; by a target of its own it is written once.
    add_custom_target(skua_single DEPENDS ${SKUA_SINGLE}/skua/skua.h)
    file(CONFIGURE OUTPUT ${SKUA_SINGLE}/skua.c
        CONTENT "#define SKUA_IMPLEMENTATION\n#include <skua/skua.h>\n" @ONLY)
elseif(NOT SKUA_FORM STREQUAL "split")
    message(FATAL_ERROR "SKUA_FORM is ${SKUA_FORM}; it can be split or single")
endif()

skua_add_library(skua_library STATIC)
add_library(Skua::skua ALIAS skua_library)

if(SKUA_FORM STREQUAL "single" AND SKUA_TESTS)
    # The unit tests include the headers of src/; the names in them are found with their prefix.
    target_compile_definitions(skua_library PRIVATE skua__shared= skua__shared_object=extern)
endif()

if(SKUA_SHARED)
    skua_add_library(skua_shared SHARED)
    # Before 1.0 any minor version may change what programs were compiled against.
    set_target_properties(skua_shared PROPERTIES EXPORT_NAME shared
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(NOT APPLE) # whose linker knows no versions of symbols
        target_link_options(skua_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/skua.map)
        set_target_properties(skua_shared PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/skua.map)
    endif()
    add_library(Skua::shared ALIAS skua_shared)
endif()
