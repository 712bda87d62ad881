// SPDX-License-Identifier: MIT
//
// Keys of TLS 1.3.

#include "net/tls_keys.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/slice.h"

#include <openssl/crypto.h>

enum { LABEL_OCTETS_MAX = 24 }; // with "tls13 " before it

typedef struct suite_facts {
    uint16_t id;
    uint8_t secret_octets, key_octets;
} suite_facts;

static const suite_facts suites[TLS_SUITES] = {
    [TLS_SUITE_AES_128_GCM_SHA256] = { 0x1301, 32, 16 },
    [TLS_SUITE_AES_256_GCM_SHA384] = { 0x1302, 48, 32 },
    [TLS_SUITE_CHACHA20_POLY1305_SHA256] = { 0x1303, 32, 32 },
};

bool tls_suite_of(uint16_t id, tls_suite *suite)
{
    for (unsigned i = 0; i < TLS_SUITES; i++) {
        if (suites[i].id != id) continue;
        *suite = (tls_suite)i;
        return true;
    }
    return false;
}

size_t tls_suite_secret_octets(tls_suite suite)
{
    return suites[suite].secret_octets;
}

size_t tls_suite_key_octets(tls_suite suite)
{
    return suites[suite].key_octets;
}

bool tls_labels_init(tls_labels *l)
{
    l->sha256 = tls_library_mac_new("SHA256");
    l->sha384 = tls_library_mac_new("SHA384");
    if (l->sha256 && l->sha384) return true;
    tls_labels_deinit(l);
    return false;
}

void tls_labels_deinit(tls_labels *l)
{
    tls_library_mac_free(l->sha256);
    tls_library_mac_free(l->sha384);
    l->sha256 = l->sha384 = NULL;
}

// HkdfLabel of RFC 8446 §7.1, and the counter that HKDF-Expand puts behind it. One block is enough
// for every label, so the counter is 1.  Returns: how many octets.
static size_t label_write(uint8_t *out, const char *label, size_t len)
{
    static const char prefix[] = "tls13 ";
    size_t prefix_len = sizeof prefix - 1, label_len = strlen(label), n = 0;
    SKUA_ASSERT(prefix_len + label_len <= LABEL_OCTETS_MAX);
    out[n++] = 0;
    out[n++] = (uint8_t)len;
    out[n++] = (uint8_t)(prefix_len + label_len);
    memcpy(out + n, prefix, prefix_len);
    memcpy(out + n + prefix_len, label, label_len);
    n += prefix_len + label_len;
    out[n++] = 0; // the context's length
    out[n++] = 1;
    return n;
}

bool tls_labels_expand(tls_labels *l, tls_suite suite, const uint8_t *secret, const char *label,
                       uint8_t *out, size_t len)
{
    uint8_t info[5 + LABEL_OCTETS_MAX], digest[TLS_KEYS_SECRET_OCTETS];
    size_t octets = suites[suite].secret_octets;
    SKUA_ASSERT(len <= octets);
    slice key = slice_make((const char *)secret, octets);
    slice text = slice_make((const char *)info, label_write(info, label, len));
    if (!tls_library_mac_of(octets == 48 ? l->sha384 : l->sha256, key, text, digest)) return false;
    memcpy(out, digest, len);
    OPENSSL_cleanse(digest, sizeof digest);
    return true;
}

static bool keys_derive(tls_keys *k, tls_labels *l)
{
    tls_suite suite = (tls_suite)k->suite;
    if (tls_labels_expand(l, suite, k->secret, "key", k->key, suites[suite].key_octets) &&
        tls_labels_expand(l, suite, k->secret, "iv", k->iv, sizeof k->iv))
        return true;
    tls_keys_wipe(k);
    return false;
}

bool tls_keys_init(tls_keys *k, tls_labels *l, tls_suite suite, const uint8_t *secret,
                   uint64_t sequence)
{
    *k = (tls_keys){ .sequence = sequence, .suite = (uint8_t)suite };
    memcpy(k->secret, secret, suites[suite].secret_octets);
    return keys_derive(k, l);
}

bool tls_keys_next(tls_keys *k, tls_labels *l)
{
    uint8_t next[TLS_KEYS_SECRET_OCTETS];
    tls_suite suite = (tls_suite)k->suite;
    size_t octets = suites[suite].secret_octets;
    if (!tls_labels_expand(l, suite, k->secret, "traffic upd", next, octets)) {
        tls_keys_wipe(k);
        return false;
    }
    bool is_made = tls_keys_init(k, l, suite, next, 0);
    OPENSSL_cleanse(next, sizeof next);
    return is_made;
}

// RFC 8446 §5.3.
void tls_keys_nonce(const tls_keys *k, uint8_t nonce[TLS_KEYS_NONCE_OCTETS])
{
    enum { FIXED_OCTETS = TLS_KEYS_NONCE_OCTETS - sizeof k->sequence };
    uint64_t sequence = k->sequence, low;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    sequence = __builtin_bswap64(sequence);
#endif
    memcpy(nonce, k->iv, FIXED_OCTETS);
    memcpy(&low, k->iv + FIXED_OCTETS, sizeof low);
    low ^= sequence;
    memcpy(nonce + FIXED_OCTETS, &low, sizeof low);
}

void tls_keys_wipe(tls_keys *k)
{
    uint8_t suite = k->suite;
    OPENSSL_cleanse(k, sizeof *k);
    k->suite = suite;
}

#endif
