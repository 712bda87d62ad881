// SPDX-License-Identifier: MIT
//
// A certificate, those that signed it, and its private key: read from PEM, checked, compared with
// names.
#ifndef SKUA_NET_TLS_CERTIFICATE_H
#define SKUA_NET_TLS_CERTIFICATE_H

#include "skua/skua.h"

#ifdef SKUA_TLS

#include "net/tls_load.h"

#include <openssl/ssl.h>

// OpenSSL chooses between certificates of different kinds by the signatures that a client can check.
typedef enum tls_key_kind { TLS_KEY_RSA, TLS_KEY_EC, TLS_KEY_ED25519, TLS_KEY_KINDS } tls_key_kind;

const char *tls_key_kind_name(tls_key_kind kind);

enum { TLS_HASH_OCTETS = 32 };

// STACK_OF(X509), in words that tools can read.
typedef struct stack_st_X509 tls_x509_list;

// leaf NULL: none. The parts are counted by OpenSSL and may be shared.
typedef struct tls_certificate {
    X509 *leaf;
    tls_x509_list *chain; // those that signed it, in order, without the leaf
    EVP_PKEY *key;
    tls_key_kind kind;
} tls_certificate;

// Reads a certificate and its key, and checks that they belong together, are valid at load->unix_s
// and stand in order.
// Errors: SKUA_EINVAL and those of tls_load_read, each with a sentence.
skua_status tls_certificate_read(const skua_tls_certificate *from, tls_load *load,
                                 tls_certificate *certificate);

// Both give another certificate with the same parts: the first by counting, the second by copying
// them, so that two threads share no counters and no locks of OpenSSL's. False: memory ran out.
bool tls_certificate_share(const tls_certificate *from, tls_certificate *certificate);
bool tls_certificate_copy(const tls_certificate *from, tls_certificate *certificate);

void tls_certificate_drop(tls_certificate *certificate);

// SHA-256 of the leaf. False: memory ran out.
bool tls_certificate_hash(const tls_certificate *certificate, unsigned char hash[TLS_HASH_OCTETS]);

// Calls each for the DNS names in the leaf, until it returns false. Returns false then.
typedef bool tls_certificate_name_fn(slice name, void *user);
bool tls_certificate_names(const tls_certificate *certificate, tls_certificate_name_fn *each,
                           void *user);

// Whether a host, a name or an IP address without brackets, is one of those the leaf is for.
bool tls_certificate_covers(const tls_certificate *certificate, slice host);

// Reads every certificate of a PEM; freed by tls_certificate_list_free.
// Errors: SKUA_EINVAL there is none, or one is broken; SKUA_ENOMEM; each with a sentence.
skua_status tls_certificate_list_read(const tls_source *source, const tls_octets *pem,
                                      tls_load *load, tls_x509_list **list);
void tls_certificate_list_free(tls_x509_list *list);

#endif
#endif
