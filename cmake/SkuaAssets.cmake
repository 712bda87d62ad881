# SPDX-License-Identifier: MIT
#
# skua_assets(target folder [NAME name]): the files below folder become a part of target, which includes name.h
# (assets.h by default) and finds them there as skua_assets of that name. They are read again when the project is built
# after one of them has changed, and when cmake runs after one has come or gone.
#
# The program skua does it: SKUA_EMBED_PROGRAM where that is set, as it has to be to one of the machine that builds
# where another is built for; else that of this build, or the one that was installed with the library, or one in the path.

# The command and what it depends on, or an error that says what to do.
function(skua_embed_program out)
    if(NOT SKUA_EMBED_PROGRAM AND TARGET Skua::program AND NOT CMAKE_CROSSCOMPILING)
        set(${out} "$<TARGET_FILE:Skua::program>" PARENT_SCOPE)
        return()
    endif()
    get_property(folder GLOBAL PROPERTY SKUA_PROGRAM_FOLDER)
    if(folder AND NOT CMAKE_CROSSCOMPILING)
        find_program(SKUA_EMBED_PROGRAM skua PATHS "${folder}" NO_DEFAULT_PATH)
    endif()
    if(NOT CMAKE_CROSSCOMPILING)
        find_program(SKUA_EMBED_PROGRAM skua)
    endif()
    if(NOT SKUA_EMBED_PROGRAM)
        message(FATAL_ERROR "skua_assets needs the program skua, which this build of the library does not have: build it "
            "with -DSKUA_PROGRAM=ON, or set SKUA_EMBED_PROGRAM to a skua that runs on this machine.")
    endif()
    set(${out} "${SKUA_EMBED_PROGRAM}" PARENT_SCOPE)
endfunction()

function(skua_assets target folder)
    cmake_parse_arguments(PARSE_ARGV 2 assets "" "NAME" "")
    if(NOT assets_NAME)
        set(assets_NAME assets)
    endif()
    get_filename_component(folder "${folder}" ABSOLUTE)
    skua_embed_program(command)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*")
    set(made "${CMAKE_CURRENT_BINARY_DIR}/${target}_assets")
    file(MAKE_DIRECTORY "${made}")
    add_custom_command(
        OUTPUT "${made}/${assets_NAME}.h"
        COMMAND "${command}" embed "${folder}" "${assets_NAME}" > "${made}/${assets_NAME}.tmp"
        COMMAND ${CMAKE_COMMAND} -E rename "${made}/${assets_NAME}.tmp" "${made}/${assets_NAME}.h"
        DEPENDS "${command}" ${files}
        COMMENT "Embedding ${folder}"
        VERBATIM)
    target_sources(${target} PRIVATE "${made}/${assets_NAME}.h")
    target_include_directories(${target} PRIVATE "${made}")
endfunction()
