// SPDX-License-Identifier: MIT
//
// Keys of TLS 1.3: what protects one direction of a connection, derived from its traffic secret
// (RFC 8446 §7.1 to §7.3). Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_KEYS_H
#define SKUA_NET_TLS_KEYS_H

#include "net/tls_library.h"

#ifdef SKUA_TLS

enum { TLS_KEYS_SECRET_OCTETS = 48, TLS_KEYS_KEY_OCTETS = 32, TLS_KEYS_NONCE_OCTETS = 12 };

typedef enum tls_suite {
    TLS_SUITE_AES_128_GCM_SHA256,
    TLS_SUITE_AES_256_GCM_SHA384,
    TLS_SUITE_CHACHA20_POLY1305_SHA256,
} tls_suite;

enum { TLS_SUITES = 3 };

// id: as in RFC 8446 §B.4, which is what SSL_CIPHER_get_protocol_id returns.
// Returns: false for a suite that is not one of those above; *suite is not written then.
bool tls_suite_of(uint16_t id, tls_suite *suite);

// Octets of the suite's traffic secrets: 32 or 48.
size_t tls_suite_secret_octets(tls_suite suite);

// Octets of the suite's keys: 16 or 32.
size_t tls_suite_key_octets(tls_suite suite);

// An HMAC for each digest, by which keys are derived from secrets, ready for the many labels of a worker.
typedef struct tls_labels {
    tls_library_mac *sha256, *sha384;
} tls_labels;

// Returns: false when memory ran out; there is nothing to be given back then.
bool tls_labels_init(tls_labels *l);
void tls_labels_deinit(tls_labels *l);

// HKDF-Expand-Label without a context.
// secret: as long as the digest of the suite.  len: at most that.
// Returns: false when memory ran out; out is not written then.
bool tls_labels_expand(tls_labels *l, tls_suite suite, const uint8_t *secret, const char *label,
                       uint8_t *out, size_t len);

typedef struct tls_keys {
    uint64_t sequence; // of the next record
    uint8_t secret[TLS_KEYS_SECRET_OCTETS];
    uint8_t key[TLS_KEYS_KEY_OCTETS];
    uint8_t iv[TLS_KEYS_NONCE_OCTETS];
    uint8_t suite; // tls_suite
} tls_keys;

// secret: a traffic secret; copied.
// Returns: false when memory ran out; the keys are wiped then.
bool tls_keys_init(tls_keys *k, tls_labels *l, tls_suite suite, const uint8_t *secret,
                   uint64_t sequence);

// Goes on to the next generation, as after a KeyUpdate. The sequence begins again.
// Returns: false when memory ran out; the keys are wiped then.
bool tls_keys_next(tls_keys *k, tls_labels *l);

// The nonce of the next record.
void tls_keys_nonce(const tls_keys *k, uint8_t nonce[TLS_KEYS_NONCE_OCTETS]);

// Whether records are protected by GCM.
static inline bool tls_keys_are_gcm(const tls_keys *k)
{
    return k->suite != TLS_SUITE_CHACHA20_POLY1305_SHA256;
}

// Overwrites everything but the suite, which is no secret.
void tls_keys_wipe(tls_keys *k);

#endif
#endif
