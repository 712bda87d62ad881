// SPDX-License-Identifier: MIT
//
// Memory that runs out, ours and OpenSSL's, at each allocation of reading a description, of making
// an acceptor and of a handshake; and workers that do all that at once.

#include "base/memory.h"

#include "support/support.h"
#include "support/tls_pair.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

// Allocations until one fails; -1: none does.
static _Thread_local long left = -1, openssl_left = -1;
static bool openssl_fails;

static bool fails(long *count)
{
    return *count >= 0 && (*count)-- == 0;
}

// ---- Allocators ----

static void *own_alloc(size_t octets, void *user)
{
    (void)user;
    return fails(&left) ? NULL : malloc(octets);
}

static void *own_resize(void *memory, size_t octets, void *user)
{
    (void)user;
    return fails(&left) ? NULL : realloc(memory, octets);
}

static void own_free(void *memory, void *user)
{
    (void)user;
    free(memory);
}

static const skua_allocator allocator = { own_alloc, own_resize, own_free, NULL };

static void *openssl_alloc(size_t octets, const char *file, int line)
{
    (void)file;
    (void)line;
    return octets == 0 || fails(&openssl_left) ? NULL : malloc(octets);
}

static void *openssl_resize(void *memory, size_t octets, const char *file, int line)
{
    (void)file;
    (void)line;
    return fails(&openssl_left) ? NULL : realloc(memory, octets);
}

static void openssl_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

// ---- A server ----

static int64_t now_ns;
static tls_made a, b, authority, client;
static skua_tls_certificate list[2];
static skua_tls_clients asked;
static char *texts[5];

#define LIST(...) ((const tls_made *const[]){ __VA_ARGS__, NULL })

static int make_all(void **state)
{
    (void)state;
    authority = tls_make((tls_want){ .name = "authority", .is_authority = true });
    client = tls_make((tls_want){ .name = "client", .issuer = &authority });
    a = tls_make((tls_want){ .name = "a", .alternates = "DNS:a.test" });
    b = tls_make((tls_want){ .key = "ED25519", .name = "b", .alternates = "DNS:b.test" });
    texts[0] = tls_pem_chain(LIST(&a));
    texts[1] = tls_pem_key(&a, NULL);
    texts[2] = tls_pem_chain(LIST(&b));
    texts[3] = tls_pem_key(&b, NULL);
    texts[4] = tls_pem_chain(LIST(&authority));
    list[0] = (skua_tls_certificate){ .pem = slice_of(texts[0]), .key_pem = slice_of(texts[1]) };
    list[1] = (skua_tls_certificate){ .pem = slice_of(texts[2]), .key_pem = slice_of(texts[3]) };
    asked = (skua_tls_clients){ .asking = SKUA_TLS_REQUIRE, .ca_pem = slice_of(texts[4]) };
    return memory_join(&allocator) ? 0 : -1;
}

static int free_all(void **state)
{
    (void)state;
    tls_made *all[] = { &a, &b, &authority, &client };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tls_made_free(all[i]);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    memory_leave();
    return 0;
}

static skua_status serve(tls_acceptor **acceptor)
{
    skua_tls_desc desc = { .certificates = list, .certificate_count = 2, .clients = asked };
    tls_load load = { .unix_s = (int64_t)time(NULL) };
    tls_context *context = NULL;
    skua_status status = tls_context_new(&desc, NULL, &load, &context);
    if (status && load.why[0] == '\0')
        return SKUA_EPROTOCOL; // no sentence, and no test expects that
    if (!status) status = tls_acceptor_new(context, &now_ns, acceptor);
    tls_context_unref(context);
    return status;
}

// The client's allocations do not fail.
static long openssl_kept;

static void turn(bool begins)
{
    long kept = begins ? -1 : openssl_left;
    openssl_left = begins ? openssl_kept : -1;
    openssl_kept = kept;
}

// Returns whether all went well.
static bool shake(tls_acceptor *acceptor, int version)
{
    tls_pair pair;
    tls_client how = { .name = "b.test", .certificate = &client, .version_max = version };
    if (openssl_fails) how.server_turn = turn;
    bool is_done = tls_pair_shake(&pair, acceptor, &how) && pair.facts;
    if (is_done) is_done = !tls_facts_misdirect(pair.facts, slice_of("b.test"));
    tls_pair_free(&pair);
    return is_done;
}

static void test_each_allocation_of_ours_may_fail(void **state)
{
    (void)state;
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        tls_acceptor *acceptor = NULL;
        assert_true(n < 1000);
        left = n;
        skua_status status = serve(&acceptor);
        bool shook = status == SKUA_OK && shake(acceptor, TLS1_3_VERSION);
        is_done = left >= 0; // nothing has failed
        left = -1;
        assert_int_equal(status, acceptor ? SKUA_OK : SKUA_ENOMEM);
        if (is_done) assert_true(shook);
        tls_acceptor_unref(acceptor);
        assert_int_equal(ERR_peek_error(), 0);
    }
}

static void test_a_certificate_for_development_without_memory(void **state)
{
    (void)state;
    bool is_done = false;
    for (long n = 0; !is_done; n++) {
        skua_slice pem = { NULL, 0 }, key_pem = { NULL, 0 };
        assert_true(n < 100);
        left = n;
        skua_status status = skua_tls_self_signed("a.test", 0, &pem, &key_pem);
        is_done = left >= 0;
        left = -1;
        assert_int_equal(status, is_done ? SKUA_OK : SKUA_ENOMEM);
        assert_int_equal(pem.ptr != NULL, is_done);
        skua_tls_free(pem);
        skua_tls_free(key_pem);
    }
}

// ---- OpenSSL's ----

// A start takes 20,000 allocations and a handshake 4,000. Not each is tried, unless
// SKUA_SOAK_ROUNDS says so.
static long openssl_step(long all)
{
    return 1 + all / (long)support_rounds(150);
}

static void test_allocations_of_openssls_may_fail_in_a_start(void **state)
{
    (void)state;
    bool is_done = false;
    for (long n = 0; !is_done; n += openssl_step(20000)) {
        tls_acceptor *acceptor = NULL;
        openssl_left = n;
        skua_status status = serve(&acceptor);
        is_done = openssl_left >= 0;
        openssl_left = -1;
        // OpenSSL does not always say that it was memory, and can do without some of it.
        assert_true(status == SKUA_OK || status == SKUA_ENOMEM || status == SKUA_EINVAL);
        assert_int_equal(status == SKUA_OK, acceptor != NULL);
        if (is_done) assert_int_equal(status, SKUA_OK);
        tls_acceptor_unref(acceptor);
        assert_int_equal(ERR_peek_error(), 0);
    }
}

static void fail_handshakes(tls_acceptor *acceptor, int version)
{
    bool is_done = false;
    for (long n = 0; !is_done; n += openssl_step(4000)) {
        openssl_kept = n;
        (void)shake(acceptor, version);
        is_done = openssl_kept >= 0;
        openssl_kept = -1;
        // The next one is none the worse.
        assert_true(shake(acceptor, version));
    }
}

static void test_allocations_of_openssls_may_fail_in_a_handshake(void **state)
{
    (void)state;
    tls_acceptor *acceptor = NULL;
    assert_int_equal(serve(&acceptor), SKUA_OK);
    openssl_fails = true;
    fail_handshakes(acceptor, TLS1_2_VERSION);
    fail_handshakes(acceptor, TLS1_3_VERSION);
    openssl_fails = false;
    tls_acceptor_unref(acceptor);
}

// ---- Threads ----

typedef struct worker {
    pthread_t thread;
    tls_context *context;
    bool is_well;
} worker;

static void *work(void *user)
{
    worker *w = user;
    tls_acceptor *acceptor = NULL;
    w->is_well = tls_acceptor_new(w->context, &now_ns, &acceptor) == SKUA_OK;
    for (int i = 0; i < 10 && w->is_well; i++)
        w->is_well = shake(acceptor, i % 2 ? TLS1_2_VERSION : TLS1_3_VERSION);
    tls_acceptor_unref(acceptor);
    tls_context_unref(w->context);
    return NULL;
}

static void test_workers_share_a_context(void **state)
{
    (void)state;
    worker workers[4];
    tls_acceptor *acceptor = NULL;
    assert_int_equal(serve(&acceptor), SKUA_OK);
    for (size_t i = 0; i < 4; i++) {
        workers[i].context = tls_context_ref(acceptor->context);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    tls_acceptor_unref(acceptor); // the last worker that ends frees what they share
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].is_well);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_of_ours_may_fail),
        cmocka_unit_test(test_a_certificate_for_development_without_memory),
        cmocka_unit_test(test_allocations_of_openssls_may_fail_in_a_start),
        cmocka_unit_test(test_allocations_of_openssls_may_fail_in_a_handshake),
        cmocka_unit_test(test_workers_share_a_context),
    };
    if (CRYPTO_set_mem_functions(openssl_alloc, openssl_resize, openssl_free) != 1) return 1;
    return cmocka_run_group_tests(tests, make_all, free_all);
}
