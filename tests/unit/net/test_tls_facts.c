// SPDX-License-Identifier: MIT
//
// Facts of a handshake that requests read, and which requests belong on another connection.

#include "support/tls_pair.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t now_ns;
static tls_made authority, a, b, chosen, client;
static char *ca;

#define LIST(...) ((const tls_made *const[]){ __VA_ARGS__, NULL })

static int make_all(void **state)
{
    (void)state;
    authority = tls_make((tls_want){ .name = "authority", .is_authority = true });
    a = tls_make((tls_want){ .name = "a",
                             .alternates = "DNS:a.test,DNS:*.a.test,DNS:both.test,"
                                           "IP:127.0.0.1,IP:::1" });
    b = tls_make((tls_want){ .name = "b", .alternates = "DNS:b.test" });
    chosen = tls_make((tls_want){ .name = "c", .alternates = "DNS:c.test,DNS:d.test,DNS:e.test" });
    client = tls_make((tls_want){ .name = "J. Doe, Jr. <\xc3\xbc>", .issuer = &authority });
    ca = tls_pem_chain(LIST(&authority));
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    tls_made *all[] = { &authority, &a, &b, &chosen, &client };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tls_made_free(all[i]);
    free(ca);
    return 0;
}

static void load(const tls_made *made, skua_tls_certificate *certificate)
{
    certificate->pem = slice_of(tls_pem_chain(LIST(made)));
    certificate->key_pem = slice_of(tls_pem_key(made, NULL));
}

static void unload(skua_tls_certificate *certificate)
{
    char *texts[2];
    memcpy(&texts[0], &certificate->pem.ptr, sizeof texts[0]);
    memcpy(&texts[1], &certificate->key_pem.ptr, sizeof texts[1]);
    free(texts[0]);
    free(texts[1]);
}

static skua_tls_identity *open_identity, *strict_identity;

// c.test and d.test as everybody, e.test with a certificate of the client's.
static skua_tls_identity *choose(skua_slice name, void *user)
{
    (void)user;
    if (slice_equal(name, slice_of("c.test")) || slice_equal(name, slice_of("d.test")))
        return skua_tls_identity_ref(open_identity);
    return slice_equal(name, slice_of("e.test")) ? skua_tls_identity_ref(strict_identity) : NULL;
}

// Serves a and b, where both.test is a's and asks clients for a certificate.
static tls_acceptor *serve(void)
{
    skua_tls_clients strict = { .asking = SKUA_TLS_REQUIRE, .ca_pem = slice_of(ca) };
    skua_tls_certificate list[3] = { { .names = "a.test *.a.test" },
                                     { .names = NULL },
                                     { .names = "both.test", .clients = &strict } };
    skua_tls_certificate other = { .names = NULL };
    skua_tls_desc desc = { .certificates = list, .certificate_count = 3, .choose = choose };
    tls_load reader = { .unix_s = (int64_t)time(NULL) };
    tls_context *context = NULL;
    tls_acceptor *acceptor = NULL;
    load(&a, &list[0]);
    load(&b, &list[1]);
    load(&a, &list[2]);
    load(&chosen, &other);
    assert_int_equal(skua_tls_identity_new(&other, 1, &open_identity, NULL, 0), SKUA_OK);
    other.clients = &strict;
    assert_int_equal(skua_tls_identity_new(&other, 1, &strict_identity, NULL, 0), SKUA_OK);
    assert_int_equal(tls_context_new(&desc, NULL, &reader, &context), SKUA_OK);
    assert_int_equal(tls_acceptor_new(context, &now_ns, &acceptor), SKUA_OK);
    tls_context_unref(context);
    unload(&other);
    for (size_t i = 0; i < 3; i++)
        unload(&list[i]);
    return acceptor;
}

static void stop(tls_acceptor *acceptor)
{
    tls_acceptor_unref(acceptor);
    skua_tls_identity_unref(open_identity);
    skua_tls_identity_unref(strict_identity);
}

static void test_requests_that_belong_elsewhere(void **state)
{
    (void)state;
    static const struct {
        const char *name, *host;
        bool is_misdirected;
    } cases[] = {
        { NULL, "a.test", false },
        { NULL, "b.test", false }, // no name was sent
        { NULL, "both.test", false },
        { "a.test", "a.test", false },
        { "a.test", "A.Test.", false },
        { "a.test", "x.a.test", false },
        { "a.test", "b.test", true },
        { "a.test", "x.y.a.test", true },
        { "a.test", "both.test", true }, // of the certificate, but clients are asked there
        { "a.test", "127.0.0.1", false },
        { "a.test", "[::1]", false },
        { "a.test", "127.0.0.2", true },
        { "a.test", "[::2]", true },
        { "a.test", "", true },
        { "b.test", "b.test", false },
        { "b.test", "a.test", true },
        { "both.test", "both.test", false },
        { "both.test", "a.test", true },
        { "other.test", "other.test", false },
        { "other.test", "a.test", false }, // they got a's, as the default
        { "c.test", "c.test", false },
        { "c.test", "d.test", false },
        { "c.test", "e.test", true },
        { "e.test", "c.test", true },
        { "c.test", "a.test", true },
    };
    tls_acceptor *acceptor = serve();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tls_pair pair;
        tls_client how = { .name = cases[i].name, .certificate = &client };
        assert_true(tls_pair_shake(&pair, acceptor, &how));
        if (tls_facts_misdirect(pair.facts, slice_of(cases[i].host)) != cases[i].is_misdirected)
            fail_msg("%s, Host %s", cases[i].name ? cases[i].name : "no name", cases[i].host);
        tls_pair_free(&pair);
    }
    stop(acceptor);
}

static void test_facts_outlive_the_connection(void **state)
{
    (void)state;
    static const struct {
        int version;
        const char *text;
    } cases[] = {
        { TLS1_2_VERSION, "TLSv1.2" },
        { TLS1_3_VERSION, "TLSv1.3" },
    };
    for (size_t i = 0; i < 2; i++) {
        tls_acceptor *acceptor = serve();
        tls_pair pair;
        tls_client how = { .name = "both.test",
                           .certificate = &client,
                           .protocols = SKUA_SLICE("\x08http/1.1"),
                           .version_max = cases[i].version };
        assert_true(tls_pair_shake(&pair, acceptor, &how));
        tls_facts *facts = tls_facts_ref(pair.facts);
        const char *cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(pair.client));
        tls_pair_free(&pair);
        stop(acceptor);
        unsigned char hash[TLS_HASH_OCTETS];
        assert_int_equal(X509_digest(client.x, EVP_sha256(), hash, NULL), 1);
        assert_string_equal(facts->version, cases[i].text);
        assert_string_equal(facts->cipher, cipher);
        assert_memory_equal(cipher, "TLS_", 4);
        assert_true(slice_equal(facts->server_name, slice_of("both.test")));
        assert_true(slice_equal(facts->protocol, slice_of("http/1.1")));
        assert_true(slice_equal(facts->client, slice_of("CN=J. Doe\\, Jr. \\<\\C3\\BC\\>")));
        assert_true(facts->has_client);
        assert_false(facts->is_resumed);
        assert_memory_equal(facts->fingerprint, hash, sizeof hash);
        assert_true(tls_facts_misdirect(facts, slice_of("a.test")));
        tls_facts_unref(facts);
    }
}

static void test_a_long_subject_is_cut(void **state)
{
    (void)state;
    char name[64 + 1];
    memset(name, ',', 64); // which is escaped
    name[64] = '\0';
    tls_made large = tls_make((tls_want){ .name = name, .issuer = &authority });
    X509_NAME *subject = X509_get_subject_name(large.x);
    const unsigned char *octets = (const unsigned char *)name;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(X509_NAME_add_entry_by_NID(subject, NID_organizationalUnitName,
                                                    MBSTRING_UTF8, octets, -1, -1, 0),
                         1);
    }
    assert_true(X509_sign(large.x, authority.key, EVP_sha256()) > 0);
    tls_acceptor *acceptor = serve();
    tls_pair pair;
    tls_client how = { .name = "both.test", .certificate = &large };
    assert_true(tls_pair_shake(&pair, acceptor, &how));
    assert_int_equal(pair.facts->client.len, TLS_SUBJECT_OCTETS_MAX);
    assert_memory_equal(pair.facts->client.ptr, "OU=\\,\\,", 7);
    tls_pair_free(&pair);
    stop(acceptor);
    tls_made_free(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_that_belong_elsewhere),
        cmocka_unit_test(test_facts_outlive_the_connection),
        cmocka_unit_test(test_a_long_subject_is_cut),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
