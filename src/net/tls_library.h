// SPDX-License-Identifier: MIT
//
// The TLS library: what differs between those that Skua is built with stands here and nowhere else.
// They are OpenSSL 3.0 or later, and AWS-LC. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_LIBRARY_H
#define SKUA_NET_TLS_LIBRARY_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include <openssl/evp.h>

// A cipher by its name in OpenSSL, as "AES-128-GCM", looked up once for the many contexts that are
// made with it.  Returns: NULL when memory ran out, or when the library does not have it.
EVP_CIPHER *tls_library_cipher(const char *name);
void tls_library_cipher_free(EVP_CIPHER *cipher); // NULL is allowed

#endif
#endif
