# SPDX-License-Identifier: MIT
#
# skua_assets(target folder [NAME name]): the files below folder become a part of target, which includes name.h
# (assets.h by default) and finds them there as skua_assets of that name. They are read again when the project is built
# after one of them has changed, and when cmake runs after one has come or gone.
#
# The program skua does it: that of this build, or else SKUA_EMBED_PROGRAM, or one that is found in the path. Set
# SKUA_EMBED_PROGRAM to one of the machine that builds, where another is built for.

function(skua_assets target folder)
    cmake_parse_arguments(PARSE_ARGV 2 assets "" "NAME" "")
    if(NOT assets_NAME)
        set(assets_NAME assets)
    endif()
    get_filename_component(folder "${folder}" ABSOLUTE)
    if(TARGET skua AND NOT CMAKE_CROSSCOMPILING)
        set(program "$<TARGET_FILE:skua>" skua)
    else()
        find_program(SKUA_EMBED_PROGRAM skua HINTS "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin" REQUIRED)
        set(program "${SKUA_EMBED_PROGRAM}")
    endif()
    list(GET program 0 command)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*")
    set(made "${CMAKE_CURRENT_BINARY_DIR}/${target}_assets")
    file(MAKE_DIRECTORY "${made}")
    add_custom_command(
        OUTPUT "${made}/${assets_NAME}.h"
        COMMAND "${command}" embed "${folder}" "${assets_NAME}" > "${made}/${assets_NAME}.tmp"
        COMMAND ${CMAKE_COMMAND} -E rename "${made}/${assets_NAME}.tmp" "${made}/${assets_NAME}.h"
        DEPENDS ${program} ${files}
        COMMENT "Embedding ${folder}"
        VERBATIM)
    target_sources(${target} PRIVATE "${made}/${assets_NAME}.h")
    target_include_directories(${target} PRIVATE "${made}")
endfunction()
