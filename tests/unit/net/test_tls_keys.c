// SPDX-License-Identifier: MIT
//
// Keys of TLS 1.3: the trace of RFC 8448 §3, the library's own derivation for every suite and label,
// generations, nonces, and memory that runs out.

#include "net/tls_keys.h"

#include "base/slice.h"
#include "support/tls.h"

#ifdef OPENSSL_IS_AWSLC
#include <openssl/hkdf.h>
#else
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tls_labels labels;

static const uint8_t client_secret[] = {
    0x9e, 0x40, 0x64, 0x6c, 0xe7, 0x9a, 0x7f, 0x9d, 0xc0, 0x5a, 0xf8, 0x88, 0x9b, 0xce, 0x65, 0x52,
    0x87, 0x5a, 0xfa, 0x0b, 0x06, 0xdf, 0x00, 0x87, 0xf7, 0x92, 0xeb, 0xb7, 0xc1, 0x75, 0x04, 0xa5,
};
static const uint8_t server_secret[] = {
    0xa1, 0x1a, 0xf9, 0xf0, 0x55, 0x31, 0xf8, 0x56, 0xad, 0x47, 0x11, 0x6b, 0x45, 0xa9, 0x50, 0x32,
    0x82, 0x04, 0xb4, 0xf4, 0x4b, 0xfb, 0x6b, 0x3a, 0x4b, 0x4f, 0x1f, 0x3f, 0xcb, 0x63, 0x16, 0x43,
};

static void test_trace_of_rfc_8448(void **state)
{
    static const struct {
        const uint8_t *secret;
        const char *key, *iv;
    } traces[] = {
        { client_secret, "\x17\x42\x2d\xda\x59\x6e\xd5\xd9\xac\xd8\x90\xe3\xc6\x3f\x50\x51",
          "\x5b\x78\x92\x3d\xee\x08\x57\x90\x33\xe5\x23\xd9" },
        { server_secret, "\x9f\x02\x28\x3b\x6c\x9c\x07\xef\xc2\x6b\xb9\xf2\xac\x92\xe3\x56",
          "\xcf\x78\x2b\x88\xdd\x83\x54\x9a\xad\xf1\xe9\x84" },
    };
    (void)state;
    for (unsigned i = 0; i < sizeof traces / sizeof *traces; i++) {
        tls_keys keys;
        assert_true(
            tls_keys_init(&keys, &labels, TLS_SUITE_AES_128_GCM_SHA256, traces[i].secret, 3));
        assert_memory_equal(keys.key, traces[i].key, 16);
        assert_memory_equal(keys.iv, traces[i].iv, 12);
        assert_int_equal(keys.sequence, 3);
        tls_keys_wipe(&keys);
    }
}

#ifdef OPENSSL_IS_AWSLC

// The library's HKDF derives the same, from the label as RFC 8446 §7.1 writes it.
static void expand_by_library(tls_suite suite, const uint8_t *secret, const char *label, void *out,
                              size_t len)
{
    uint8_t info[64];
    int n = snprintf((char *)info + 2, sizeof info - 2, "%ctls13 %s%c", (int)strlen(label) + 6,
                     label, 0);
    info[0] = (uint8_t)(len >> 8);
    info[1] = (uint8_t)len;
    size_t octets = tls_suite_secret_octets(suite);
    assert_int_equal(HKDF_expand(out, len, octets == 48 ? EVP_sha384() : EVP_sha256(), secret,
                                 octets, info, (size_t)n + 2),
                     1);
}

#else

// The library's own TLS13-KDF derives the same.
static void expand_by_library(tls_suite suite, const uint8_t *secret, const char *label, void *out,
                              size_t len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS13-KDF", NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
    char digest[] = "SHA2-256", prefix[] = "tls13 ", mode[] = "EXPAND_ONLY";
    char text[32], key[TLS_KEYS_SECRET_OCTETS];
    if (tls_suite_secret_octets(suite) == 48) memcpy(digest, "SHA2-384", sizeof digest);
    memcpy(key, secret, tls_suite_secret_octets(suite));
    memcpy(text, label, strlen(label));
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MODE, mode, 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key, tls_suite_secret_octets(suite)),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_PREFIX, prefix, 6),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_LABEL, text, strlen(label)),
        OSSL_PARAM_construct_end(),
    };
    assert_int_equal(EVP_KDF_derive(context, out, len, params), 1);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
}

#endif

static void expect_keys_of(const tls_keys *keys, tls_suite suite, const uint8_t *secret)
{
    uint8_t expected[TLS_KEYS_SECRET_OCTETS];
    assert_memory_equal(keys->secret, secret, tls_suite_secret_octets(suite));
    expand_by_library(suite, secret, "key", expected, tls_suite_key_octets(suite));
    assert_memory_equal(keys->key, expected, tls_suite_key_octets(suite));
    expand_by_library(suite, secret, "iv", expected, TLS_KEYS_NONCE_OCTETS);
    assert_memory_equal(keys->iv, expected, TLS_KEYS_NONCE_OCTETS);
}

static void test_every_suite_through_generations(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        uint8_t secret[TLS_KEYS_SECRET_OCTETS], next[TLS_KEYS_SECRET_OCTETS];
        tls_keys keys;
        for (unsigned i = 0; i < sizeof secret; i++)
            secret[i] = (uint8_t)(suite * 50 + i);
        assert_true(tls_keys_init(&keys, &labels, (tls_suite)suite, secret, 77));
        for (unsigned generation = 0; generation < 5; generation++) {
            expect_keys_of(&keys, (tls_suite)suite, secret);
            expand_by_library((tls_suite)suite, secret, "traffic upd", next,
                              tls_suite_secret_octets((tls_suite)suite));
            memcpy(secret, next, sizeof secret);
            assert_true(tls_keys_next(&keys, &labels));
            assert_int_equal(keys.sequence, 0);
            keys.sequence = 9;
        }
    }
}

static void test_suites(void **state)
{
    tls_suite suite = TLS_SUITE_AES_128_GCM_SHA256;
    (void)state;
    assert_true(tls_suite_of(0x1301, &suite) && suite == TLS_SUITE_AES_128_GCM_SHA256);
    assert_true(tls_suite_of(0x1302, &suite) && suite == TLS_SUITE_AES_256_GCM_SHA384);
    assert_true(tls_suite_of(0x1303, &suite) && suite == TLS_SUITE_CHACHA20_POLY1305_SHA256);
    assert_false(tls_suite_of(0x1304, &suite)); // AES-128-CCM
    assert_false(tls_suite_of(0xc02f, &suite)); // of TLS 1.2
    assert_int_equal(suite, TLS_SUITE_CHACHA20_POLY1305_SHA256);
}

static void test_nonces(void **state)
{
    tls_keys keys = { .sequence = UINT64_C(0x0102030405060708) };
    uint8_t nonce[TLS_KEYS_NONCE_OCTETS];
    (void)state;
    memset(keys.iv, 0xf0, sizeof keys.iv);
    tls_keys_nonce(&keys, nonce);
    assert_memory_equal(nonce, "\xf0\xf0\xf0\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8", 12);
    keys.sequence = 0;
    tls_keys_nonce(&keys, nonce);
    assert_memory_equal(nonce, keys.iv, 12);
}

static void test_wiped(void **state)
{
    static const tls_keys none = { .suite = TLS_SUITE_AES_128_GCM_SHA256 };
    tls_keys keys;
    (void)state;
    assert_true(tls_keys_init(&keys, &labels, TLS_SUITE_AES_128_GCM_SHA256, client_secret, 1));
    tls_keys_wipe(&keys);
    assert_memory_equal(keys.secret, none.secret, sizeof keys.secret);
    assert_memory_equal(keys.key, none.key, sizeof keys.key);
    assert_memory_equal(keys.iv, none.iv, sizeof keys.iv);
}

// Every allocation fails in turn, and all after it.
static void test_memory_runs_out(void **state)
{
    bool is_made = false;
    (void)state;
    for (unsigned n = 0; !is_made; n++) {
        tls_labels l;
        tls_keys keys = { 0 };
        assert_true(n < 1000);
        tls_memory_fail_after(n);
        is_made = tls_labels_init(&l);
        bool has_keys = is_made && tls_keys_init(&keys, &l, TLS_SUITE_AES_256_GCM_SHA384,
                                                 (const uint8_t *)"012345678901234567890123456789"
                                                                  "012345678901234567",
                                                 0);
        tls_memory_relax();
        assert_true(has_keys || tls_memory_failures());
        if (!has_keys) assert_memory_equal(keys.secret, (tls_keys){ 0 }.secret, sizeof keys.secret);
        if (is_made) tls_labels_deinit(&l);
        is_made = has_keys;
    }
}

static int labels_open(void **state)
{
    (void)state;
    return !tls_labels_init(&labels);
}

static int labels_close(void **state)
{
    (void)state;
    tls_labels_deinit(&labels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_of_rfc_8448),
        cmocka_unit_test(test_every_suite_through_generations),
        cmocka_unit_test(test_suites),
        cmocka_unit_test(test_nonces),
        cmocka_unit_test(test_wiped),
        cmocka_unit_test(test_memory_runs_out),
    };
    tls_memory_hook();
    return cmocka_run_group_tests(tests, labels_open, labels_close);
}
