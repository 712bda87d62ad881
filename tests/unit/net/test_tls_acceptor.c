// SPDX-License-Identifier: MIT
//
// Handshakes: which certificate is shown to whom, versions, groups, protocols, clients with
// certificates, and sessions that are taken up again.

#include "support/tls_pair.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CERTIFICATES_MAX = 4 };

// AWS-LC chooses the alert itself when the hello is refused, asks about the first hello alone, and
// never negotiates again.
#ifdef OPENSSL_IS_AWSLC
#define IS_AWSLC true
#define ALERT_UNKNOWN_NAME SSL_AD_HANDSHAKE_FAILURE
#else
#define IS_AWSLC false
#define ALERT_UNKNOWN_NAME SSL_AD_UNRECOGNIZED_NAME
#endif

static int64_t now_ns;

// ---- Certificates, made once ----

static tls_made authority, other_authority, stranger;
static tls_made ec, rsa, ed, wild, client;

static int make_all(void **state)
{
    (void)state;
    authority = tls_make((tls_want){ .name = "authority", .is_authority = true });
    other_authority = tls_make((tls_want){ .name = "another", .is_authority = true });
    stranger = tls_make((tls_want){ .name = "stranger" });
    ec = tls_make((tls_want){ .name = "ec", .alternates = "DNS:a.test" });
    rsa = tls_make((tls_want){ .key = "RSA", .name = "rsa", .alternates = "DNS:a.test" });
    ed = tls_make((tls_want){ .key = "ED25519", .name = "ed", .alternates = "DNS:b.test" });
    wild = tls_make((tls_want){ .name = "wild", .alternates = "DNS:*.w.test,DNS:b.w.test" });
    client = tls_make((tls_want){ .name = "client", .issuer = &authority });
    return 0;
}

static int free_all(void **state)
{
    (void)state;
    tls_made *all[] = { &authority, &other_authority, &stranger, &ec, &rsa, &ed, &wild, &client };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tls_made_free(all[i]);
    return 0;
}

// ---- Acceptors ----

// A certificate to serve with; the PEM is freed when it has been read.
static skua_tls_certificate shown(const tls_made *made, char *texts[2])
{
    texts[0] = tls_pem_chain((const tls_made *const[]){ made, NULL });
    texts[1] = tls_pem_key(made, NULL);
    return (skua_tls_certificate){ .pem = slice_of(texts[0]), .key_pem = slice_of(texts[1]) };
}

static tls_acceptor *accept_by(const skua_tls_desc *desc, const tls_context *before)
{
    tls_load load = { .unix_s = (int64_t)time(NULL) };
    tls_context *context = NULL;
    tls_acceptor *acceptor = NULL;
    skua_status status = tls_context_new(desc, before, &load, &context);
    if (status) print_message("%s\n", load.why);
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(tls_acceptor_new(context, &now_ns, &acceptor), SKUA_OK);
    tls_context_unref(context);
    return acceptor;
}

// With the certificates of a list that ends with NULL.
static tls_acceptor *accept_with(skua_tls_desc desc, const tls_made *const list[])
{
    skua_tls_certificate certificates[CERTIFICATES_MAX];
    char *texts[CERTIFICATES_MAX][2];
    unsigned count = 0;
    for (; list[count]; count++)
        certificates[count] = shown(list[count], texts[count]);
    desc.certificates = certificates;
    desc.certificate_count = count;
    tls_acceptor *acceptor = accept_by(&desc, NULL);
    for (unsigned i = 0; i < count; i++) {
        free(texts[i][0]);
        free(texts[i][1]);
    }
    return acceptor;
}

#define LIST(...) ((const tls_made *const[]){ __VA_ARGS__, NULL })

// Which certificate a client gets; NULL: none, and the alert is that.
static void check_shown(tls_acceptor *acceptor, const tls_client *how, const tls_made *expected,
                        int alert)
{
    tls_pair pair;
    bool is_done = tls_pair_shake(&pair, acceptor, how);
    assert_int_equal(is_done, expected != NULL);
    assert_int_equal(pair.alert, expected ? -1 : alert);
    if (expected) {
        X509 *x = SSL_get_peer_certificate(pair.client);
        assert_int_equal(X509_cmp(x, expected->x), 0);
        X509_free(x);
    }
    tls_pair_free(&pair);
}

// ---- Names ----

static void test_a_name_leads_to_its_certificate(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec, &ed, &wild));
    const struct {
        const char *name;
        const tls_made *expected;
    } cases[] = {
        { NULL, &ec },         { "a.test", &ec },     { "b.test", &ed },     { "B.Test", &ed },
        { "b.test.", &ed },    { "x.w.test", &wild }, { "X.W.TEST", &wild }, { "b.w.test", &wild },
        { "y.x.w.test", &ec }, { "w.test", &ec },     { "c.test", &ec },     { "test", &ec },
        { "127.0.0.1", &ec },  { "not a name", &ec },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            check_shown(acceptor, &(tls_client){ .name = cases[i].name, .version_max = version },
                        cases[i].expected, -1);
        }
    }
    tls_acceptor_unref(acceptor);
}

static void test_the_name_is_remembered_in_lower_case(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    tls_pair pair;
    assert_true(tls_pair_shake(&pair, acceptor, &(tls_client){ .name = "Shop.Test" }));
    assert_true(slice_equal(pair.facts->server_name, slice_of("shop.test")));
    tls_pair_free(&pair);
    assert_true(tls_pair_shake(&pair, acceptor, &(tls_client){ 0 }));
    assert_int_equal(pair.facts->server_name.len, 0);
    tls_pair_free(&pair);
    tls_acceptor_unref(acceptor);
}

static void test_a_client_gets_the_kind_of_key_that_it_can_check(void **state)
{
    (void)state;
    // The names of the second lead to both, and so does the default.
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ed, &ec, &rsa));
    const struct {
        const char *name, *signatures;
        const tls_made *expected;
    } cases[] = {
        { "a.test", "ECDSA+SHA256", &ec },
        { "a.test", "RSA-PSS+SHA256", &rsa },
        { "a.test", "ECDSA+SHA256:RSA-PSS+SHA256", &ec },
        { "b.test", "ed25519", &ed },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_shown(acceptor,
                    &(tls_client){ .name = cases[i].name, .signatures = cases[i].signatures },
                    cases[i].expected, -1);
    }
    check_shown(acceptor, &(tls_client){ .name = "b.test", .signatures = "ECDSA+SHA256" }, NULL,
                SSL_AD_HANDSHAKE_FAILURE);
    tls_acceptor_unref(acceptor);
    acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&rsa, &ec));
    check_shown(acceptor, &(tls_client){ .signatures = "ECDSA+SHA256" }, &ec, -1);
    check_shown(acceptor, &(tls_client){ .signatures = "RSA-PSS+SHA256" }, &rsa, -1);
    tls_acceptor_unref(acceptor);
}

// ---- By a function ----

static skua_tls_identity *choose_for_c(skua_slice name, void *user)
{
    return slice_equal(name, slice_of("c.test")) ? skua_tls_identity_ref(user) : NULL;
}

static skua_tls_identity *identity_of(const tls_made *made)
{
    char *texts[2], why[512];
    skua_tls_identity *identity = NULL;
    skua_tls_certificate certificate = shown(made, texts);
    assert_int_equal(skua_tls_identity_new(&certificate, 1, &identity, why, sizeof why), SKUA_OK);
    free(texts[0]);
    free(texts[1]);
    return identity;
}

static void test_a_function_chooses_for_names_that_nobody_has(void **state)
{
    (void)state;
    skua_tls_identity *identity = identity_of(&ed);
    skua_tls_desc desc = { .choose = choose_for_c, .choose_user = identity };
    tls_acceptor *acceptor = accept_with(desc, LIST(&ec));
    check_shown(acceptor, &(tls_client){ .name = "c.test" }, &ed, -1);
    check_shown(acceptor, &(tls_client){ .name = "a.test" }, &ec, -1);
    check_shown(acceptor, &(tls_client){ .name = "d.test" }, &ec, -1);
    tls_acceptor_unref(acceptor);
    // Without certificates there is no default.
    acceptor = accept_by(&desc, NULL);
    check_shown(acceptor, &(tls_client){ .name = "c.test" }, &ed, -1);
    check_shown(acceptor, &(tls_client){ .name = "d.test" }, NULL, ALERT_UNKNOWN_NAME);
    check_shown(acceptor, &(tls_client){ 0 }, NULL, ALERT_UNKNOWN_NAME);
    tls_acceptor_unref(acceptor);
    skua_tls_identity_unref(identity);
}

static unsigned chose;

static skua_tls_identity *choose_and_count(skua_slice name, void *user)
{
    (void)name;
    chose++;
    return skua_tls_identity_ref(user);
}

// The client's first guess of a group is another than the server's, and it is asked again.
static void test_a_hello_that_comes_again_says_the_same(void **state)
{
    (void)state;
    skua_tls_identity *identity = identity_of(&ed);
    skua_tls_desc desc = { .choose = choose_and_count, .choose_user = identity, .groups = "P-384" };
    tls_acceptor *acceptor = accept_by(&desc, NULL);
    tls_client how = { .name = "c.test", .groups = "X25519:P-384" };
    tls_pair pair;
    chose = 0;
    assert_true(tls_pair_shake(&pair, acceptor, &how));
    assert_int_equal(chose, 1);
    tls_pair_free(&pair);
    how.second_name = "d.test";
    assert_int_equal(tls_pair_shake(&pair, acceptor, &how), IS_AWSLC);
    assert_int_equal(pair.alert, IS_AWSLC ? -1 : SSL_AD_ILLEGAL_PARAMETER);
    assert_true(slice_equal(tls_choice_name(&pair.choice), slice_of("c.test")));
    assert_int_equal(chose, 2);
    tls_pair_free(&pair);
    tls_acceptor_unref(acceptor);
    skua_tls_identity_unref(identity);
}

// ---- Protocols, versions, groups ----

static void test_a_protocol_is_agreed_on_or_the_handshake_ends(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    const struct {
        slice offered, expected;
    } cases[] = {
        { SKUA_SLICE("\x08http/1.1"), SKUA_SLICE("http/1.1") },
        { SKUA_SLICE("\x02h2\x08http/1.1"), SKUA_SLICE("http/1.1") },
        { SKUA_SLICE(""), SKUA_SLICE("") },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tls_pair pair;
        assert_true(
            tls_pair_shake(&pair, acceptor, &(tls_client){ .protocols = cases[i].offered }));
        assert_true(slice_equal(pair.facts->protocol, cases[i].expected));
        tls_pair_free(&pair);
    }
    check_shown(acceptor, &(tls_client){ .protocols = SKUA_SLICE("\x02h2") }, NULL,
                SSL_AD_NO_APPLICATION_PROTOCOL);
    tls_acceptor_unref(acceptor);
}

static void test_versions(void **state)
{
    (void)state;
    const struct {
        skua_tls_version min;
        int client; // the one version it offers
        const char *expected;
    } cases[] = {
        { SKUA_TLS_DEFAULT, TLS1_1_VERSION, NULL },
        { SKUA_TLS_DEFAULT, TLS1_2_VERSION, "TLSv1.2" },
        { SKUA_TLS_DEFAULT, TLS1_3_VERSION, "TLSv1.3" },
        { SKUA_TLS_1_2, TLS1_2_VERSION, "TLSv1.2" },
        { SKUA_TLS_1_3, TLS1_2_VERSION, NULL },
        { SKUA_TLS_1_3, TLS1_3_VERSION, "TLSv1.3" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tls_acceptor *acceptor =
            accept_with((skua_tls_desc){ .oldest_version = cases[i].min }, LIST(&ec));
        tls_pair pair;
        tls_client how = { .version_min = cases[i].client, .version_max = cases[i].client };
        bool is_done = tls_pair_shake(&pair, acceptor, &how);
        assert_int_equal(is_done, cases[i].expected != NULL);
        if (is_done) assert_string_equal(pair.facts->version, cases[i].expected);
        else assert_int_equal(pair.alert, SSL_AD_PROTOCOL_VERSION);
        tls_pair_free(&pair);
        tls_acceptor_unref(acceptor);
    }
}

static void test_nothing_is_negotiated_again(void **state)
{
    (void)state;
    char octets[16];
    tls_pair pair;
    if (IS_AWSLC) skip();
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    assert_true(tls_pair_shake(&pair, acceptor, &(tls_client){ .version_max = TLS1_2_VERSION }));
    assert_int_equal(SSL_renegotiate(pair.client), 1);
    (void)SSL_do_handshake(pair.client);
    assert_true(SSL_read(pair.server, octets, sizeof octets) <= 0);
    (void)SSL_do_handshake(pair.client);
    assert_int_equal(pair.alert, SSL_AD_NO_RENEGOTIATION);
    tls_pair_free(&pair);
    tls_acceptor_unref(acceptor);
}

static void test_the_suites_are_mozillas(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec, &rsa));
    STACK_OF(SSL_CIPHER) *suites = SSL_CTX_get_ciphers(acceptor->ssl);
    assert_int_equal(sk_SSL_CIPHER_num(suites), 9);
    for (int i = 0; i < sk_SSL_CIPHER_num(suites); i++) {
        const SSL_CIPHER *suite = sk_SSL_CIPHER_value(suites, i);
        assert_int_equal(SSL_CIPHER_is_aead(suite), 1);
        int exchange = SSL_CIPHER_get_kx_nid(suite);
        assert_true(exchange == NID_kx_ecdhe || exchange == NID_kx_any);
    }
    tls_acceptor_unref(acceptor);
}

static void test_a_group_that_is_unknown_does_not_spoil_the_others(void **state)
{
    (void)state;
    tls_acceptor *acceptor =
        accept_with((skua_tls_desc){ .groups = "nonsense  P-384 more" }, LIST(&ec));
    assert_string_equal(acceptor->context->groups, "P-384");
    check_shown(acceptor, &(tls_client){ .groups = "P-384" }, &ec, -1);
    // Its first guess is another, and it is asked again.
    check_shown(acceptor, &(tls_client){ .name = "a.test", .groups = "X25519:P-384" }, &ec, -1);
    check_shown(acceptor, &(tls_client){ .groups = "X25519" }, NULL, SSL_AD_HANDSHAKE_FAILURE);
    tls_acceptor_unref(acceptor);
    acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    check_shown(acceptor, &(tls_client){ .groups = "X25519" }, &ec, -1);
    check_shown(acceptor, &(tls_client){ .groups = "P-256" }, &ec, -1);
    check_shown(acceptor, &(tls_client){ .groups = "P-384" }, &ec, -1);
    tls_acceptor_unref(acceptor);
}

// ---- Clients with certificates ----

static skua_tls_clients ask(skua_tls_asking asking, const char *ca_pem)
{
    return (skua_tls_clients){ .asking = asking, .ca_pem = slice_of(ca_pem) };
}

static void test_clients_show_certificates_when_they_are_asked(void **state)
{
    (void)state;
    char *ca = tls_pem_chain(LIST(&authority));
    const struct {
        skua_tls_asking asking;
        const tls_made *client;
        bool is_done, is_known;
    } cases[] = {
        { SKUA_TLS_ASK_NOT, NULL, true, false },       { SKUA_TLS_ASK_NOT, &client, true, false },
        { SKUA_TLS_ASK_NOT, &stranger, true, false },  { SKUA_TLS_ASK, NULL, true, false },
        { SKUA_TLS_ASK, &client, true, true },         { SKUA_TLS_ASK, &stranger, false, false },
        { SKUA_TLS_REQUIRE, NULL, false, false },      { SKUA_TLS_REQUIRE, &client, true, true },
        { SKUA_TLS_REQUIRE, &stranger, false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        skua_tls_desc desc = { .clients = ask(cases[i].asking, ca) };
        tls_acceptor *acceptor = accept_with(desc, LIST(&ec));
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            tls_pair pair;
            tls_client how = { .certificate = cases[i].client, .version_max = version };
            assert_int_equal(tls_pair_shake(&pair, acceptor, &how), cases[i].is_done);
            if (cases[i].is_done) assert_int_equal(pair.facts->has_client, cases[i].is_known);
            if (cases[i].is_known)
                assert_true(slice_equal(pair.facts->client, slice_of("CN=client")));
            tls_pair_free(&pair);
        }
        tls_acceptor_unref(acceptor);
    }
    free(ca);
}

// A certificate of a client with so many names.
static tls_made client_with_names(unsigned count)
{
    char *text = calloc(count, 16), *at = text;
    assert_non_null(text);
    for (unsigned i = 0; i < count; i++)
        at += snprintf(at, 16, "%sDNS:%05u.test", i ? "," : "", i);
    tls_made made =
        tls_make((tls_want){ .name = "large", .issuer = &authority, .alternates = text });
    free(text);
    return made;
}

static void test_a_client_shows_so_much_and_no_more(void **state)
{
    (void)state;
    char *ca = tls_pem_chain(LIST(&authority));
    tls_acceptor *acceptor =
        accept_with((skua_tls_desc){ .clients = ask(SKUA_TLS_REQUIRE, ca) }, LIST(&ec));
    const struct {
        unsigned names; // of 12 octets each
        bool is_done;
    } cases[] = { { 2650, true }, { 2750, false } };
    for (size_t i = 0; i < 2; i++) {
        tls_made large = client_with_names(cases[i].names);
        int octets = i2d_X509(large.x, NULL);
        assert_int_equal(octets < TLS_CLIENT_CHAIN_OCTETS_MAX, cases[i].is_done);
        assert_true(abs(octets - TLS_CLIENT_CHAIN_OCTETS_MAX) < 1000);
        for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
            tls_pair pair;
            tls_client how = { .version_max = version, .certificate = &large };
            assert_int_equal(tls_pair_shake(&pair, acceptor, &how), cases[i].is_done);
            assert_int_equal(pair.alert, cases[i].is_done ? -1 : SSL_AD_ILLEGAL_PARAMETER);
            tls_pair_free(&pair);
        }
        tls_made_free(&large);
    }
    tls_acceptor_unref(acceptor);
    free(ca);
}

// ---- Sessions ----

// Takes up with another acceptor a session that began with one. Returns whether that went.
static bool resumes(tls_acceptor *first, const char *first_name, tls_acceptor *second,
                    const char *second_name, int version, const tls_made *shows)
{
    tls_pair pair;
    tls_client how = { .name = first_name, .version_max = version, .certificate = shows };
    assert_true(tls_pair_shake(&pair, first, &how));
    assert_false(pair.facts->is_resumed);
    how.session = tls_pair_session(&pair);
    how.name = second_name;
    tls_pair_free(&pair);
    assert_true(tls_pair_shake(&pair, second, &how));
    bool is_resumed = pair.facts->is_resumed;
    SSL_SESSION_free(how.session);
    tls_pair_free(&pair);
    return is_resumed;
}

static bool resumes_both(tls_acceptor *first, const char *first_name, tls_acceptor *second,
                         const char *second_name)
{
    bool by_1_2 = resumes(first, first_name, second, second_name, TLS1_2_VERSION, &client);
    bool by_1_3 = resumes(first, first_name, second, second_name, TLS1_3_VERSION, &client);
    assert_int_equal(by_1_2, by_1_3);
    return by_1_3;
}

static void test_sessions_are_taken_up_by_any_worker(void **state)
{
    (void)state;
    tls_acceptor *one = accept_with((skua_tls_desc){ 0 }, LIST(&ec, &ed)), *other = NULL;
    assert_int_equal(tls_acceptor_new(one->context, &now_ns, &other), SKUA_OK);
    assert_true(resumes_both(one, "a.test", one, "a.test"));
    assert_true(resumes_both(one, "a.test", other, "a.test"));
    assert_true(resumes_both(one, "b.test", other, "b.test"));
    assert_true(resumes_both(one, NULL, other, "unknown.test"));
    // A ticket of one certificate is none for another: CVE-2025-23419.
    assert_false(resumes_both(one, "a.test", other, "b.test"));
    assert_false(resumes_both(one, "b.test", other, "a.test"));
    assert_false(resumes_both(one, "b.test", other, NULL));
    tls_acceptor_unref(other);
    tls_acceptor_unref(one);
}

static void test_without_tickets_nothing_is_taken_up(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ .no_tickets = true }, LIST(&ec));
    assert_false(resumes_both(acceptor, "a.test", acceptor, "a.test"));
    tls_acceptor_unref(acceptor);
}

static void test_tickets_are_given_one_at_a_time_for_a_day(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    assert_int_equal(SSL_CTX_get_num_tickets(acceptor->ssl), 1);
    assert_int_equal(SSL_CTX_get_timeout(acceptor->ssl), 2 * 12 * 3600);
    tls_acceptor_unref(acceptor);
}

static void test_what_is_asked_of_clients_bounds_their_sessions(void **state)
{
    (void)state;
    char *ca = tls_pem_chain(LIST(&authority));
    char *more = tls_pem_chain(LIST(&authority, &other_authority));
    char *turned = tls_pem_chain(LIST(&other_authority, &authority));
    char keys[] = "/tmp/skua-tls-keys-XXXXXX";
    char octets[TLS_TICKET_KEY_OCTETS];
    memset(octets, 'k', sizeof octets);
    int fd = mkstemp(keys);
    assert_int_equal(write(fd, octets, sizeof octets), sizeof octets);
    close(fd);
    const skua_tls_clients asks[] = { { 0 },
                                      ask(SKUA_TLS_ASK, ca),
                                      ask(SKUA_TLS_REQUIRE, ca),
                                      ask(SKUA_TLS_REQUIRE, more),
                                      ask(SKUA_TLS_REQUIRE, turned) };
    tls_acceptor *acceptors[5];
    for (size_t i = 0; i < 5; i++) {
        skua_tls_desc desc = { .clients = asks[i], .ticket_file = keys };
        acceptors[i] = accept_with(desc, LIST(&ec));
    }
    for (size_t i = 0; i < 5; i++) {
        for (size_t j = 0; j < 5; j++) {
            bool is_same = i == j || (i >= 3 && j >= 3); // the order of authorities is none
            assert_int_equal(resumes_both(acceptors[i], NULL, acceptors[j], NULL), is_same);
        }
    }
    for (size_t i = 0; i < 5; i++)
        tls_acceptor_unref(acceptors[i]);
    unlink(keys);
    free(ca);
    free(more);
    free(turned);
}

static void test_a_client_is_known_in_a_session_that_it_takes_up(void **state)
{
    (void)state;
    char *ca = tls_pem_chain(LIST(&authority));
    tls_acceptor *acceptor =
        accept_with((skua_tls_desc){ .clients = ask(SKUA_TLS_REQUIRE, ca) }, LIST(&ec));
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        tls_pair pair;
        tls_client how = { .version_max = version, .certificate = &client };
        assert_true(tls_pair_shake(&pair, acceptor, &how));
        unsigned char fingerprint[TLS_HASH_OCTETS];
        memcpy(fingerprint, pair.facts->fingerprint, sizeof fingerprint);
        how.session = tls_pair_session(&pair);
        tls_pair_free(&pair);
        assert_true(tls_pair_shake(&pair, acceptor, &how));
        assert_true(pair.facts->is_resumed);
        assert_true(pair.facts->has_client);
        assert_true(slice_equal(pair.facts->client, slice_of("CN=client")));
        assert_memory_equal(pair.facts->fingerprint, fingerprint, sizeof fingerprint);
        SSL_SESSION_free(how.session);
        tls_pair_free(&pair);
    }
    tls_acceptor_unref(acceptor);
    free(ca);
}

static void test_sessions_outlive_two_replacements_of_keys(void **state)
{
    (void)state;
    tls_acceptor *acceptor = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        for (int replaced = 0; replaced <= 3; replaced++) {
            tls_pair pair;
            tls_client how = { .version_max = version };
            assert_true(tls_pair_shake(&pair, acceptor, &how));
            how.session = tls_pair_session(&pair);
            tls_pair_free(&pair);
            for (int i = 0; i < replaced; i++) {
                now_ns += TLS_TICKET_ROTATION_NS;
                assert_true(tls_pair_shake(&pair, acceptor, &(tls_client){ 0 }));
                tls_pair_free(&pair);
            }
            assert_true(tls_pair_shake(&pair, acceptor, &how));
            assert_int_equal(pair.facts->is_resumed, replaced <= 2);
            // One that an older key opened is given again, by the newest.
            SSL_SESSION *renewed = tls_pair_session(&pair);
            if (replaced == 2) {
                now_ns += 2 * TLS_TICKET_ROTATION_NS;
                tls_pair_free(&pair);
                SSL_SESSION_free(how.session);
                how.session = renewed;
                SSL_SESSION_up_ref(renewed);
                assert_true(tls_pair_shake(&pair, acceptor, &how));
                assert_true(pair.facts->is_resumed);
            }
            SSL_SESSION_free(renewed);
            SSL_SESSION_free(how.session);
            tls_pair_free(&pair);
        }
    }
    tls_acceptor_unref(acceptor);
}

static void test_a_reload_keeps_the_random_keys(void **state)
{
    (void)state;
    tls_acceptor *before = accept_with((skua_tls_desc){ 0 }, LIST(&ec));
    char *texts[2];
    skua_tls_certificate certificate = shown(&ec, texts);
    skua_tls_desc desc = { .certificates = &certificate, .certificate_count = 1 };
    tls_acceptor *after = accept_by(&desc, before->context), *apart = accept_by(&desc, NULL);
    assert_true(resumes_both(before, NULL, after, NULL));
    assert_false(resumes_both(before, NULL, apart, NULL));
    free(texts[0]);
    free(texts[1]);
    tls_acceptor_unref(before);
    tls_acceptor_unref(after);
    tls_acceptor_unref(apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_leads_to_its_certificate),
        cmocka_unit_test(test_the_name_is_remembered_in_lower_case),
        cmocka_unit_test(test_a_client_gets_the_kind_of_key_that_it_can_check),
        cmocka_unit_test(test_a_function_chooses_for_names_that_nobody_has),
        cmocka_unit_test(test_a_hello_that_comes_again_says_the_same),
        cmocka_unit_test(test_a_protocol_is_agreed_on_or_the_handshake_ends),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_nothing_is_negotiated_again),
        cmocka_unit_test(test_the_suites_are_mozillas),
        cmocka_unit_test(test_a_group_that_is_unknown_does_not_spoil_the_others),
        cmocka_unit_test(test_clients_show_certificates_when_they_are_asked),
        cmocka_unit_test(test_a_client_shows_so_much_and_no_more),
        cmocka_unit_test(test_sessions_are_taken_up_by_any_worker),
        cmocka_unit_test(test_without_tickets_nothing_is_taken_up),
        cmocka_unit_test(test_tickets_are_given_one_at_a_time_for_a_day),
        cmocka_unit_test(test_what_is_asked_of_clients_bounds_their_sessions),
        cmocka_unit_test(test_a_client_is_known_in_a_session_that_it_takes_up),
        cmocka_unit_test(test_sessions_outlive_two_replacements_of_keys),
        cmocka_unit_test(test_a_reload_keeps_the_random_keys),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
