# SPDX-License-Identifier: MIT
#
# The option SKUA_REDIS: topics over several machines, by hiredis, which pkg-config finds. Where nobody says anything it is
# on if that is there, but off in a part of another project, which would link with more than it asked for.

if(PROJECT_IS_TOP_LEVEL OR SKUA_REDIS)
    find_package(PkgConfig QUIET)
endif()
if(PkgConfig_FOUND AND NOT (DEFINED SKUA_REDIS AND NOT SKUA_REDIS))
    pkg_check_modules(SKUA_REDIS_LIBRARY QUIET IMPORTED_TARGET GLOBAL hiredis)
endif()
set(SKUA_REDIS_DEFAULT OFF)
if(PROJECT_IS_TOP_LEVEL AND SKUA_REDIS_LIBRARY_FOUND)
    set(SKUA_REDIS_DEFAULT ON)
endif()
option(SKUA_REDIS "Build topics over several machines in; needs hiredis" ${SKUA_REDIS_DEFAULT})
if(SKUA_REDIS AND NOT SKUA_REDIS_LIBRARY_FOUND)
    message(FATAL_ERROR "SKUA_REDIS needs hiredis with its headers and pkg-config (on Debian: libhiredis-dev pkg-config), "
        "which was not found. Without SKUA_REDIS Skua does not need it.")
endif()
