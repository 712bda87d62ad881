# SPDX-License-Identifier: MIT
#
# The library, in the form that SKUA_FORM says, and the shared one beside it.
#
# Whatever the form, what the files share among them is hidden. A static library keeps hidden names for its
# linker all the same, so those of a library that leaves the project are made local; the unit tests need them.

file(GLOB SKUA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.c)
file(GLOB SKUA_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.h)

# Adds target in the form asked for. Whoever links with it needs no flag of ours.
function(skua_add_library target kind)
    if(SKUA_FORM STREQUAL "single")
        add_library(${target} ${kind} ${SKUA_SINGLE}/skua.c ${SKUA_SINGLE}/skua/skua.h)
        target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${SKUA_SINGLE}>)
    else()
        add_library(${target} ${kind} ${SKUA_SOURCES})
        target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    endif()
    if(SKUA_FORM STREQUAL "unity")
        # A local may bear the name of what another file declares.
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0
            UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma GCC diagnostic ignored \"-Wshadow\"")
    endif()
    set_target_properties(${target} PROPERTIES OUTPUT_NAME skua)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:skua_options> PUBLIC Threads::Threads)
endfunction()

if(SKUA_FORM STREQUAL "single")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(SKUA_SINGLE ${PROJECT_BINARY_DIR}/single)
    add_custom_command(
        OUTPUT ${SKUA_SINGLE}/skua/skua.h ${SKUA_SINGLE}/names.h
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/dist.py
            --out ${SKUA_SINGLE}/skua/skua.h --names ${SKUA_SINGLE}/names.h
        COMMAND ${CMAKE_COMMAND} -E touch ${SKUA_SINGLE}/skua/skua.h ${SKUA_SINGLE}/names.h
        DEPENDS ${SKUA_SOURCES} ${SKUA_HEADERS} include/skua/skua.h tools/dist.py tools/c_names.py
        COMMENT "Writing the single header")
    file(CONFIGURE OUTPUT ${SKUA_SINGLE}/skua.c
        CONTENT "#define SKUA_IMPLEMENTATION\n#include <skua/skua.h>\n" @ONLY)
elseif(NOT SKUA_FORM MATCHES "^(split|unity)$")
    message(FATAL_ERROR "SKUA_FORM is ${SKUA_FORM}; it can be split, unity or single")
endif()

skua_add_library(skua_library STATIC)
add_library(Skua::skua ALIAS skua_library)

if(SKUA_FORM STREQUAL "single" AND SKUA_TESTS)
    # The unit tests include the headers of src/; the names in them are found with their prefix.
    target_compile_definitions(skua_library PRIVATE skua__shared= skua__shared_object=extern)
elseif(SKUA_FORM STREQUAL "unity" AND CMAKE_OBJCOPY AND NOT APPLE AND NOT SKUA_TESTS AND NOT SKUA_FUZZ)
    add_custom_command(TARGET skua_library POST_BUILD
        COMMAND ${CMAKE_OBJCOPY} --localize-hidden $<TARGET_FILE:skua_library>)
endif()

if(SKUA_SHARED)
    skua_add_library(skua_shared SHARED)
    # Before 1.0 any minor version may change what programs were compiled against.
    set_target_properties(skua_shared PROPERTIES EXPORT_NAME shared
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    add_library(Skua::shared ALIAS skua_shared)
endif()
