// SPDX-License-Identifier: MIT
//
// Contexts of a worker: who keeps a pair and who loses it, what is left of the keys afterwards, what
// is counted, and memory that runs out.

#include "net/tls_contexts.h"

#include "support/tls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static tls_contexts contexts, others;

static void connection_open(tls_ends *ends, tls_suite suite, uint8_t seed)
{
    assert_true(tls_ends_init(ends, &others, &contexts, suite, seed));
}

// A record goes each way.
static void expect_speaks(tls_ends *ends)
{
    char record[128];
    slice inner, text = slice_of("a request, or its response");
    size_t len = tls_seal(&ends->client, TLS_CONTENT_APPLICATION, &text, 1, record);
    assert_int_equal(len, text.len + TLS_AROUND_OCTETS);
    assert_int_equal(tls_open(&ends->server, record, len, &inner), TLS_OPENED);
    assert_int_equal(inner.len, text.len + 1);
    assert_memory_equal(inner.ptr, text.ptr, text.len);
    len = tls_seal(&ends->server, TLS_CONTENT_APPLICATION, &text, 1, record);
    assert_int_equal(tls_open(&ends->client, record, len, &inner), TLS_OPENED);
    assert_memory_equal(inner.ptr, text.ptr, text.len);
}

static int contexts_open(void **state)
{
    (void)state;
    return !tls_contexts_init(&contexts, NULL) || !tls_contexts_init(&others, NULL);
}

static int contexts_close(void **state)
{
    (void)state;
    tls_contexts_deinit(&contexts);
    tls_contexts_deinit(&others);
    return 0;
}

static void test_default(void **state)
{
    (void)state;
    assert_int_equal(contexts.pairs_max, 1024);
    for (unsigned suite = 0; suite < TLS_SUITES; suite++)
        assert_true(tls_contexts_have(&contexts, (tls_suite)suite));
}

// A use only marks a pair. When one is needed, those that are marked are passed over, and lose their marks.
static void test_those_that_are_used_stay(void **state)
{
    tls_ends ends[4];
    (void)state;
    contexts.pairs_max = 3;
    for (uint8_t i = 0; i < 4; i++)
        connection_open(&ends[i], TLS_SUITE_AES_128_GCM_SHA256, i);
    assert_int_equal(contexts.pairs, 0); // nobody has spoken
    for (unsigned i = 0; i < 4; i++)
        expect_speaks(&ends[i]);
    assert_int_equal(contexts.pairs, 3);
    assert_null(ends[0].server.pair); // all were marked: the first one goes
    expect_speaks(&ends[1]);
    expect_speaks(&ends[0]);
    assert_null(ends[2].server.pair); // the only one that has not spoken since
    assert_non_null(ends[1].server.pair);
    assert_non_null(ends[3].server.pair);
    for (unsigned i = 0; i < 4; i++)
        expect_speaks(&ends[i]);
    for (unsigned i = 0; i < 4; i++)
        tls_ends_wipe(&ends[i]);
    assert_int_equal(contexts.pairs, 0);
    assert_null(contexts.oldest);
    assert_null(contexts.newest);
}

// One pair goes round connections of all suites.
static void test_one_pair_for_all_suites(void **state)
{
    tls_ends ends[TLS_SUITES * 2];
    (void)state;
    contexts.pairs_max = 1;
    for (uint8_t i = 0; i < TLS_SUITES * 2; i++)
        connection_open(&ends[i], (tls_suite)(i % TLS_SUITES), i);
    for (unsigned i = 0; i < 100; i++) {
        expect_speaks(&ends[i * 5 % (TLS_SUITES * 2)]);
        assert_int_equal(contexts.pairs, 1);
    }
    for (unsigned i = 0; i < TLS_SUITES * 2; i++)
        tls_ends_wipe(&ends[i]);
}

// Keys as they lie in the library's memory: those of AES are the first of the schedule.
static unsigned keys_held(const tls_keys *keys)
{
    return tls_memory_holding(keys->key, 16);
}

static void test_keys_are_wiped(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        for (unsigned next = 0; next < TLS_SUITES; next++) {
            tls_ends first, second;
            contexts.pairs_max = 1;
            connection_open(&first, (tls_suite)suite, 1);
            connection_open(&second, (tls_suite)next, 2);
            tls_keys open = first.server.keys[TLS_OPEN], seal = first.server.keys[TLS_SEAL];
            expect_speaks(&first);
            tls_contexts_drop(&others, &first.client.pair);
            // Processors without AES instructions keep another form of the key.
            bool is_visible = keys_held(&open) && keys_held(&seal);
            if (suite == TLS_SUITE_CHACHA20_POLY1305_SHA256) assert_true(is_visible);
            tls_memory_watch(open.key, 16);
            expect_speaks(&second);
            assert_int_equal(tls_memory_leaked(), 0);
            assert_int_equal(keys_held(&open), 0);
            assert_int_equal(keys_held(&seal), 0);
            open = second.server.keys[TLS_OPEN];
            tls_memory_watch(open.key, 16);
            tls_ends_wipe(&second);
            assert_int_equal(tls_memory_leaked(), 0);
            assert_int_equal(keys_held(&open), 0);
            tls_memory_watch(NULL, 0);
            tls_ends_wipe(&first);
        }
    }
}

static void test_counted_swept_emptied(void **state)
{
    budget all;
    lease counting;
    tls_ends ends[2];
    (void)state;
    budget_init(&all, 1 << 20, 1);
    lease_init(&counting, &all, 0, NULL);
    contexts.memory = &counting;
    for (uint8_t i = 0; i < 2; i++) {
        connection_open(&ends[i], TLS_SUITE_AES_256_GCM_SHA384, i);
        expect_speaks(&ends[i]);
    }
    assert_true(counting.used >= 2 * TLS_PAIR_OCTETS);
    assert_int_equal(tls_contexts_sweep(&contexts), 0); // both were used
    expect_speaks(&ends[0]);
    assert_true(tls_contexts_sweep(&contexts) >= TLS_PAIR_OCTETS);
    assert_null(ends[1].server.pair);
    assert_non_null(ends[0].server.pair);
    expect_speaks(&ends[1]);
    assert_true(tls_contexts_empty(&contexts) >= 2 * TLS_PAIR_OCTETS);
    assert_int_equal(counting.used, 0);
    assert_null(ends[0].server.pair);
    expect_speaks(&ends[0]);
    for (unsigned i = 0; i < 2; i++)
        tls_ends_wipe(&ends[i]);
    assert_int_equal(counting.used, 0);
    contexts.memory = NULL;
    lease_end(&counting);
}

// Without memory for one more pair, that of another connection is used.
static void test_fewer_pairs_without_memory(void **state)
{
    tls_ends first, second;
    (void)state;
    connection_open(&first, TLS_SUITE_AES_128_GCM_SHA256, 1);
    connection_open(&second, TLS_SUITE_AES_128_GCM_SHA256, 2);
    expect_speaks(&first);
    tls_memory_fail_after(0);
    assert_ptr_equal(tls_contexts_find(&contexts, &second.server.pair, second.server.keys),
                     contexts.newest);
    tls_memory_relax();
    assert_null(first.server.pair);
    assert_int_equal(contexts.pairs, 1);
    expect_speaks(&second);
    expect_speaks(&first);
    assert_int_equal(contexts.pairs, 2);
    tls_ends_wipe(&first);
    tls_ends_wipe(&second);
}

// Every allocation of a connection's first pair fails in turn, and all after it: the pair is found or
// not, and nothing is lost.
static void test_no_memory(void **state)
{
    (void)state;
    for (unsigned suite = 0; suite < TLS_SUITES; suite++) {
        unsigned failed = 0;
        for (unsigned n = 0, failures = 1; failures; n++) {
            tls_ends ends;
            connection_open(&ends, (tls_suite)suite, 3);
            tls_memory_fail_after(n);
            const tls_pair *pair =
                tls_contexts_find(&contexts, &ends.server.pair, ends.server.keys);
            tls_memory_relax();
            failures = tls_memory_failures();
            assert_ptr_equal(pair, ends.server.pair);
            assert_true(pair || failures);
            failed += !pair;
            expect_speaks(&ends);
            tls_ends_wipe(&ends);
            assert_int_equal(contexts.pairs, 0);
        }
        assert_true(failed >= 4); // two contexts, and what each has
    }
}

static void test_init_without_memory(void **state)
{
    (void)state;
    for (unsigned n = 0, failures = 1; failures; n++) {
        tls_contexts c;
        tls_memory_fail_after(n);
        bool is_made = tls_contexts_init(&c, NULL);
        tls_memory_relax();
        failures = tls_memory_failures();
        assert_true(is_made || failures);
        if (is_made) tls_contexts_deinit(&c);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, contexts_open, contexts_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_default),
        TEST(test_those_that_are_used_stay),
        TEST(test_one_pair_for_all_suites),
        TEST(test_keys_are_wiped),
        TEST(test_counted_swept_emptied),
        TEST(test_fewer_pairs_without_memory),
        TEST(test_no_memory),
        TEST(test_init_without_memory),
    };
    tls_memory_hook();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
