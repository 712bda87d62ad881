// SPDX-License-Identifier: MIT
//
// Certificates for tests, made when they run. Only with SKUA_TLS. All stop the process when OpenSSL
// fails.
#ifndef TESTS_TLS_FILES_H
#define TESTS_TLS_FILES_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include <openssl/ssl.h>

typedef struct tls_made {
    X509 *x;
    EVP_PKEY *key;
} tls_made;

// A certificate to be made. key: "EC" (P-256), "RSA" (2048 bits), "ED25519".
typedef struct tls_want {
    const char *key;        // NULL: EC
    const char *name;       // common name of the subject
    const char *alternates; // as in OpenSSL's configuration: "DNS:a.test,IP:127.0.0.1"; NULL: none
    const tls_made *issuer; // NULL: signed by itself
    bool is_authority;
    int64_t from_s, to_s; // from now; both 0: from an hour ago to a day ahead
} tls_want;

tls_made tls_make(tls_want want);
void tls_made_free(tls_made *made);

// PEM, ended by NUL; freed by free. chain: ended by NULL. passphrase: NULL for a key that is not
// encrypted.
char *tls_pem_chain(const tls_made *const chain[]);
char *tls_pem_key(const tls_made *made, const char *passphrase);

// Writes a file of those octets, that its owner alone can read, and frees the octets.
void tls_write(const char *path, char *text);

#endif
#endif
