# SPDX-License-Identifier: MIT
#
# Passwords of basic_auth are hashed by crypt_r: a library of its own with glibc, a part of libc with musl. The program
# is built without where there is none, and says so to a configuration that needs it.

include(CheckSymbolExists)

find_library(SKUA_CRYPT_LIBRARY crypt)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
if(SKUA_CRYPT_LIBRARY)
    set(CMAKE_REQUIRED_LIBRARIES ${SKUA_CRYPT_LIBRARY})
endif()
check_symbol_exists(crypt_r crypt.h SKUA_HAS_CRYPT)
unset(CMAKE_REQUIRED_DEFINITIONS)
unset(CMAKE_REQUIRED_LIBRARIES)

if(SKUA_HAS_CRYPT)
    target_compile_definitions(skua PRIVATE SKUA_CRYPT)
    if(SKUA_CRYPT_LIBRARY)
        target_link_libraries(skua PRIVATE ${SKUA_CRYPT_LIBRARY})
    endif()
endif()
