# SPDX-License-Identifier: MIT
#
# The option SKUA_TLS. It needs OpenSSL 3.0 or later, or AWS-LC, which says that it is OpenSSL 1.1.1. Where
# nobody says anything it is on if there is such a library, but off in a part of another project, which would
# link with more than it asked for.

set(SKUA_TLS_DEFAULT OFF)
if(DEFINED SKUA_TLS AND NOT SKUA_TLS)
    set(SKUA_TLS_LIBRARY_IS_FIT FALSE)
elseif(SKUA_TLS OR PROJECT_IS_TOP_LEVEL)
    find_package(OpenSSL QUIET)
    set(SKUA_TLS_LIBRARY_IS_FIT FALSE)
    if(OPENSSL_FOUND AND (OPENSSL_VERSION VERSION_GREATER_EQUAL 3.0 OR
            EXISTS "${OPENSSL_INCLUDE_DIR}/openssl/is_awslc.h"))
        set(SKUA_TLS_LIBRARY_IS_FIT TRUE)
        set(SKUA_TLS_DEFAULT ON)
    endif()
endif()
option(SKUA_TLS "Build HTTPS in; needs OpenSSL 3.0 or later" ${SKUA_TLS_DEFAULT})

if(SKUA_TLS AND NOT SKUA_TLS_LIBRARY_IS_FIT)
    message(FATAL_ERROR "SKUA_TLS needs OpenSSL 3.0 or later with its headers (on Debian: libssl-dev), which was not "
        "found. OPENSSL_ROOT_DIR says where it is. Without SKUA_TLS Skua needs nothing.")
endif()
