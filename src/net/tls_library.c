// SPDX-License-Identifier: MIT
//
// The TLS library. OpenSSL 3 looks an algorithm up under a lock and counts who uses it, unless it
// has been fetched before. AWS-LC has constant tables.

#include "net/tls_library.h"

#ifdef SKUA_TLS

#ifdef OPENSSL_IS_AWSLC

#include <string.h>

// AWS-LC has ChaCha20-Poly1305 as an EVP_AEAD alone.
EVP_CIPHER *tls_library_cipher(const char *name)
{
    const EVP_CIPHER *cipher = EVP_get_cipherbyname(name);
    EVP_CIPHER *found;
    memcpy(&found, &cipher, sizeof found); // it is constant, and nobody writes to it
    return found;
}

void tls_library_cipher_free(EVP_CIPHER *cipher)
{
    (void)cipher;
}

#else

EVP_CIPHER *tls_library_cipher(const char *name)
{
    return EVP_CIPHER_fetch(NULL, name, NULL);
}

void tls_library_cipher_free(EVP_CIPHER *cipher)
{
    EVP_CIPHER_free(cipher);
}

#endif
#endif
