// SPDX-License-Identifier: MIT
//
// Certificates for development: what is in them, and that a client that trusts one is content.

#include "support/support.h"
#include "support/tls_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

static X509 *parse(skua_slice pem)
{
    BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    X509 *x = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    assert_non_null(x);
    return x;
}

static EVP_PKEY *parse_key(skua_slice pem)
{
    BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);
    BIO_free(bio);
    assert_non_null(key);
    return key;
}

// Checks it as a client does for a host at a time.
static int verify(X509 *x, const char *host, int64_t unix_s)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    assert_int_equal(X509_STORE_add_cert(store, x), 1);
    assert_int_equal(X509_STORE_CTX_init(context, store, x, NULL), 1);
    X509_VERIFY_PARAM *rules = X509_STORE_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_time(rules, (time_t)unix_s);
    assert_int_equal(X509_VERIFY_PARAM_set_purpose(rules, X509_PURPOSE_SSL_SERVER), 1);
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, host) != 1)
        assert_int_equal(X509_VERIFY_PARAM_set1_host(rules, host, 0), 1);
#ifdef OPENSSL_IS_AWSLC
    // Else it trusts authorities alone.
    assert_int_equal(X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_PARTIAL_CHAIN), 1);
#endif
    (void)X509_verify_cert(context);
    int error = X509_STORE_CTX_get_error(context);
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    return error;
}

static void test_clients_that_trust_it_are_content(void **state)
{
    (void)state;
    const int64_t now = (int64_t)time(NULL), day = 86400;
    skua_slice pem, key_pem;
    assert_int_equal(
        skua_tls_self_signed(" localhost 127.0.0.1  ::1 Box.Local *.dev.test", now, &pem, &key_pem),
        SKUA_OK);
    X509 *x = parse(pem);
    EVP_PKEY *key = parse_key(key_pem);
    static const struct {
        const char *host;
        int error;
    } cases[] = {
        { "localhost", X509_V_OK },
        { "127.0.0.1", X509_V_OK },
        { "::1", X509_V_OK },
        { "box.local", X509_V_OK },
        { "a.dev.test", X509_V_OK },
        { "dev.test", X509_V_ERR_HOSTNAME_MISMATCH },
        { "127.0.0.2", X509_V_ERR_IP_ADDRESS_MISMATCH },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(verify(x, cases[i].host, now), cases[i].error);
    assert_int_equal(verify(x, "localhost", now - 3599), X509_V_OK);
    assert_int_equal(verify(x, "localhost", now - 3601), X509_V_ERR_CERT_NOT_YET_VALID);
    assert_int_equal(verify(x, "localhost", now + 364 * day), X509_V_OK);
    assert_int_equal(verify(x, "localhost", now + 365 * day), X509_V_ERR_CERT_HAS_EXPIRED);
    assert_int_equal(X509_check_private_key(x, key), 1);
    assert_int_equal(EVP_PKEY_base_id(key), EVP_PKEY_EC);
    assert_int_equal(EVP_PKEY_bits(key), 256);
    assert_int_equal(X509_check_ca(x), 0);
    assert_int_equal(X509_get_key_usage(x), KU_DIGITAL_SIGNATURE);
    assert_int_equal(X509_get_extended_key_usage(x), XKU_SSL_SERVER);
    EVP_PKEY_free(key);
    X509_free(x);
    skua_tls_free(pem);
    skua_tls_free(key_pem);
}

static void test_no_two_are_alike(void **state)
{
    (void)state;
    skua_slice one, other, one_key, other_key;
    assert_int_equal(skua_tls_self_signed("a.test", 0, &one, &one_key), SKUA_OK);
    assert_int_equal(skua_tls_self_signed("a.test", 0, &other, &other_key), SKUA_OK);
    X509 *x = parse(one), *y = parse(other);
    assert_int_not_equal(ASN1_INTEGER_cmp(X509_get0_serialNumber(x), X509_get0_serialNumber(y)), 0);
    assert_false(slice_equal(one_key, other_key));
    X509_free(x);
    X509_free(y);
    skua_tls_free(one);
    skua_tls_free(other);
    skua_tls_free(one_key);
    skua_tls_free(other_key);
}

static void test_names_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = { "",      "  ", "a b..c", "http://a.test", "a.test,b.test",
                                         "[::1]", "*" };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        skua_slice pem = { NULL, 0 }, key_pem = { NULL, 0 };
        assert_int_equal(skua_tls_self_signed(cases[i], 0, &pem, &key_pem), SKUA_EINVAL);
        assert_null(pem.ptr);
        assert_null(key_pem.ptr);
    }
}

static void test_the_fingerprint_is_that_of_openssl(void **state)
{
    (void)state;
    skua_slice pem, key_pem;
    char text[96], expected[97] = "";
    unsigned char hash[32];
    int64_t end = 0;
    const int64_t now = 4102444800; // in 2100: beyond 32 bits, and UTCTime has no such year
    assert_int_equal(skua_tls_self_signed("a.test", now, &pem, &key_pem), SKUA_OK);
    X509 *x = parse(pem);
    assert_int_equal(X509_digest(x, EVP_sha256(), hash, NULL), 1);
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(expected + 3 * i, 4, "%02X:", hash[i]);
    expected[95] = '\0';
    assert_int_equal(skua_tls_fingerprint(pem, text, &end), SKUA_OK);
    assert_string_equal(text, expected);
    assert_int_equal(end, now - 3600 + INT64_C(365) * 86400);
    assert_int_equal(skua_tls_fingerprint(pem, text, NULL), SKUA_OK);
    assert_int_equal(skua_tls_fingerprint(key_pem, text, &end), SKUA_EINVAL);
    assert_int_equal(skua_tls_fingerprint(SKUA_SLICE(""), text, &end), SKUA_EINVAL);
    X509_free(x);
    skua_tls_free(pem);
    skua_tls_free(key_pem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clients_that_trust_it_are_content),
        cmocka_unit_test(test_no_two_are_alike),
        cmocka_unit_test(test_names_that_are_none_are_refused),
        cmocka_unit_test(test_the_fingerprint_is_that_of_openssl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
