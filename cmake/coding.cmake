# SPDX-License-Identifier: MIT
#
# The options SKUA_ZLIB, SKUA_BROTLI and SKUA_ZSTD: content codings, each by a library that pkg-config finds. Where nobody
# says anything each is on if it is there, but off in a part of another project, which would link with more than it asked for.

set(SKUA_CODINGS)
if(PROJECT_IS_TOP_LEVEL OR SKUA_ZLIB OR SKUA_BROTLI OR SKUA_ZSTD)
    find_package(PkgConfig QUIET)
endif()

function(skua_coding option name module package)
    if(PkgConfig_FOUND AND NOT (DEFINED ${option} AND NOT ${option}))
        pkg_check_modules(${option}_LIBRARY QUIET IMPORTED_TARGET GLOBAL ${module})
    endif()
    set(default OFF)
    if(PROJECT_IS_TOP_LEVEL AND ${option}_LIBRARY_FOUND)
        set(default ON)
    endif()
    option(${option} "Build the content coding ${name} in; needs ${module}" ${default})
    if(${option} AND NOT ${option}_LIBRARY_FOUND)
        message(FATAL_ERROR "${option} needs ${module} with its headers and pkg-config (on Debian: ${package} pkg-config), which "
            "was not found. Without ${option} Skua does not need it.")
    endif()
    if(${option})
        list(APPEND SKUA_CODINGS "${option}=${module}")
        set(SKUA_CODINGS ${SKUA_CODINGS} PARENT_SCOPE)
    endif()
endfunction()

skua_coding(SKUA_ZLIB gzip zlib zlib1g-dev)
skua_coding(SKUA_BROTLI br libbrotlienc libbrotli-dev)
skua_coding(SKUA_ZSTD zstd libzstd libzstd-dev)
