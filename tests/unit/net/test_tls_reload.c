// SPDX-License-Identifier: MIT
//
// skua_tls_reload: what new connections are shown, whenever it is called: before the start, beside it,
// beside the end, and when the new certificates are not in order.

#include "skua/skua.h"
#include "support/socket.h"
#include "support/tls_files.h"

#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { WORKERS = 3, ROUNDS = 16, IN_A_ROW = 4 * WORKERS, LOOKS = 2000 };

// A certificate as a server is told of it.
typedef struct pair {
    tls_made made;
    char *chain, *key;
    skua_tls_certificate certificate;
} pair;

static pair pairs[2];
static skua_tls_desc descs[2];

static void pair_make(pair *p)
{
    p->made = tls_make((tls_want){ .name = "a", .alternates = "DNS:a.test" });
    p->chain = tls_pem_chain((const tls_made *const[]){ &p->made, NULL });
    p->key = tls_pem_key(&p->made, NULL);
    p->certificate = (skua_tls_certificate){ .pem = { p->chain, strlen(p->chain) },
                                             .key_pem = { p->key, strlen(p->key) } };
}

static int make_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        pair_make(&pairs[i]);
        descs[i] = (skua_tls_desc){ .listen = "127.0.0.1:0",
                                    .certificates = &pairs[i].certificate,
                                    .certificate_count = 1 };
    }
    return 0;
}

static int free_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        tls_made_free(&pairs[i].made);
        free(pairs[i].chain);
        free(pairs[i].key);
    }
    return 0;
}

static skua_server *server_new(void)
{
    skua_server *server = skua_server_new(&(skua_config){ .workers = WORKERS, .tls = descs[0] });
    assert_non_null(server);
    return server;
}

static void reload(skua_server *server, size_t which)
{
    char why[512] = "";
    assert_int_equal(skua_tls_reload(server, &descs[which], why, sizeof why), SKUA_OK);
    assert_string_equal(why, "");
}

// The number of the pair that a new connection is shown.
static size_t shown(const skua_server *server)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *client = SSL_new(context);
    int fd = socket_connect_to(skua_server_address(server, 0));
    assert_int_equal(SSL_set_fd(client, fd), 1);
    assert_int_equal(SSL_connect(client), 1);
    X509 *x = SSL_get_peer_certificate(client);
    size_t which = X509_cmp(x, pairs[0].made.x) == 0 ? 0 : 1;
    assert_int_equal(X509_cmp(x, pairs[which].made.x), 0);
    X509_free(x);
    SSL_free(client);
    SSL_CTX_free(context);
    assert_int_equal(close(fd), 0);
    return which;
}

// Letters to workers take their time: looks until so many connections in a row are shown the pair.
static void expect_shown(const skua_server *server, size_t which)
{
    unsigned in_a_row = 0;
    for (unsigned looks = 0; in_a_row < IN_A_ROW; looks++) {
        assert_true(looks < LOOKS);
        in_a_row = shown(server) == which ? in_a_row + 1 : 0;
    }
}

static void end(skua_server *server)
{
    skua_stop(server, 0);
    assert_int_equal(skua_wait(server), SKUA_OK);
}

static void test_a_reload_before_the_start_and_between_runs(void **state)
{
    (void)state;
    skua_server *server = server_new();
    for (size_t which = 2; which-- > 0;) {
        reload(server, which);
        assert_int_equal(skua_start(server), SKUA_OK);
        for (unsigned i = 0; i < IN_A_ROW; i++)
            assert_int_equal(shown(server), which);
        end(server);
    }
    skua_server_free(server);
}

static void test_a_reload_of_a_server_that_runs(void **state)
{
    (void)state;
    skua_server *server = server_new();
    assert_int_equal(skua_start(server), SKUA_OK);
    expect_shown(server, 0);
    reload(server, 1);
    expect_shown(server, 1);
    end(server);
    skua_server_free(server);
}

static void test_a_reload_that_fails_changes_nothing(void **state)
{
    (void)state;
    char why[512] = "";
    skua_tls_certificate mixed = pairs[1].certificate;
    mixed.key_pem = pairs[0].certificate.key_pem;
    const skua_tls_desc bad = { .certificates = &mixed, .certificate_count = 1 }, none = { 0 };
    skua_server *server = server_new();
    assert_int_equal(skua_start(server), SKUA_OK);
    assert_int_equal(skua_tls_reload(server, &bad, why, sizeof why), SKUA_EINVAL);
    assert_non_null(strstr(why, "does not belong to the certificate"));
    assert_int_equal(skua_tls_reload(server, &none, why, sizeof why), SKUA_EINVAL);
    assert_string_equal(why, "there is no certificate for TLS");
    assert_int_equal(skua_tls_reload(server, &bad, NULL, 0), SKUA_EINVAL);
    for (unsigned i = 0; i < IN_A_ROW; i++)
        assert_int_equal(shown(server), 0);
    end(server);
    skua_server_free(server);
}

static void test_a_server_in_the_clear_has_nothing_to_reload(void **state)
{
    (void)state;
    char why[512] = "";
    skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0" });
    assert_non_null(server);
    assert_int_equal(skua_tls_reload(server, &descs[0], why, sizeof why), SKUA_ESTATE);
    assert_string_equal(why, "the server does not speak TLS");
    skua_server_free(server);
}

typedef struct reloading {
    skua_server *server;
    size_t which;
    unsigned rounds;
} reloading;

static void *reload_beside(void *user)
{
    reloading *r = user;
    for (unsigned i = 0; i < r->rounds; i++)
        reload(r->server, r->which);
    return NULL;
}

// Workers that were opened with the old certificates get the new ones, too.
static void test_a_reload_beside_the_start(void **state)
{
    (void)state;
    skua_server *server = server_new();
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        reloading r = { .server = server, .which = (round + 1) % 2, .rounds = 1 + round % 3 };
        assert_int_equal(pthread_create(&thread, NULL, reload_beside, &r), 0);
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_int_equal(pthread_join(thread, NULL), 0);
        expect_shown(server, r.which);
        end(server);
    }
    skua_server_free(server);
}

static void test_a_reload_beside_the_end(void **state)
{
    (void)state;
    skua_server *server = server_new();
    for (unsigned round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        reloading r = { .server = server, .which = round % 2, .rounds = 10 };
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_int_equal(pthread_create(&thread, NULL, reload_beside, &r), 0);
        end(server);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reload_before_the_start_and_between_runs),
        cmocka_unit_test(test_a_reload_of_a_server_that_runs),
        cmocka_unit_test(test_a_reload_that_fails_changes_nothing),
        cmocka_unit_test(test_a_server_in_the_clear_has_nothing_to_reload),
        cmocka_unit_test(test_a_reload_beside_the_start),
        cmocka_unit_test(test_a_reload_beside_the_end),
    };
    return cmocka_run_group_tests(tests, make_pairs, free_pairs);
}
