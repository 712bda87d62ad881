// SPDX-License-Identifier: MIT
//
// The budget: what leases take is never less than what is used, comes back, and is at most a little
// more; its levels begin where they should.

#include "base/budget.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MIB = 1 << 20, THREADS = 4, ROUNDS = 20000 };

static void test_levels_begin_at_their_shares(void **state)
{
    (void)state;
    static const struct {
        size_t octets;
        budget_level level;
    } cases[] = {
        { 0, BUDGET_PLENTY },     { 800000, BUDGET_PLENTY }, { 800001, BUDGET_LOW },
        { 900000, BUDGET_LOW },   { 900001, BUDGET_SCARCE }, { 999999, BUDGET_SCARCE },
        { 1000000, BUDGET_FULL }, { 99000000, BUDGET_FULL },
    };
    budget b;
    budget_init(&b, 1000000, 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        budget_add(&b, cases[i].octets);
        assert_int_equal(budget_octets(&b), cases[i].octets);
        assert_int_equal(budget_level_of(&b), cases[i].level);
        budget_drop(&b, cases[i].octets);
    }
}

static void test_steps_follow_the_size_and_the_workers(void **state)
{
    (void)state;
    static const struct {
        size_t octets_max;
        unsigned leases;
        size_t step;
    } cases[] = {
        { (size_t)64 * MIB, 1, 262144 },
        { (size_t)1024 * MIB, 1, 262144 },
        { (size_t)64 * MIB, 4, 262144 },
        { (size_t)16 * MIB, 1, 262144 },
        { (size_t)16 * MIB, 4, 65536 },
        { MIB, 1, 16384 },
        { MIB, 64, 4096 },
        { 0, 0, 4096 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        budget b;
        budget_init(&b, cases[i].octets_max, cases[i].leases);
        assert_int_equal(b.step, cases[i].step);
    }
}

static unsigned told;

static void tell(lease *l)
{
    assert_true(l->taken >= l->used);
    told++;
}

static void test_lease_takes_and_gives_back_in_steps(void **state)
{
    (void)state;
    budget b;
    lease l;
    budget_init(&b, MIB, 1);
    lease_init(&l, &b, 1000, tell);
    told = 0;
    lease_add(&l, 1);
    assert_int_equal(budget_octets(&b), 1000);
    lease_add(&l, 999);
    assert_int_equal(budget_octets(&b), 1000);
    assert_int_equal(told, 1);
    lease_add(&l, 1001);
    assert_int_equal(budget_octets(&b), 3000);
    assert_int_equal(told, 2);
    lease_drop(&l, 1000); // 1001 are used: one step stays beyond
    assert_int_equal(budget_octets(&b), 3000);
    lease_drop(&l, 1);
    assert_int_equal(budget_octets(&b), 2000);
    lease_add(&l, 500);
    lease_drop(&l, 500);
    assert_int_equal(budget_octets(&b), 2000);
    lease_drop(&l, 1000);
    assert_int_equal(budget_octets(&b), 1000);
    assert_int_equal(told, 2);
    lease_end(&l);
    assert_int_equal(budget_octets(&b), 0);
}

static void test_counted_memory_is_counted_until_it_is_freed(void **state)
{
    (void)state;
    budget b;
    lease l;
    budget_init(&b, MIB, 1);
    lease_init(&l, &b, 0, NULL);
    char *zeroed = counted_zeroed(&l, 100);
    char *grown = counted_resize(&l, NULL, 10);
    char *foreign = counted_alloc(NULL, 1000);
    assert_true(zeroed && grown && foreign);
    for (int i = 0; i < 100; i++)
        assert_int_equal(zeroed[i], 0);
    size_t header = l.used - 110;
    assert_in_range(header, 2, 64);
    memset(grown, 'x', 10);
    grown = counted_resize(&l, grown, 5000);
    assert_int_equal(grown[9], 'x');
    assert_int_equal(l.used, 5100 + header);
    grown = counted_resize(&l, grown, 20);
    assert_int_equal(l.used, 120 + header);
    counted_adopt(&l, foreign);
    assert_int_equal(l.used, 1120 + header + header / 2);
    counted_adopt(&l, NULL);
    counted_free(NULL);
    counted_free(foreign);
    counted_free(zeroed);
    counted_free(grown);
    assert_int_equal(l.used, 0);
    counted_free(counted_alloc(NULL, 1));
    assert_null(counted_alloc(&l, SIZE_MAX));
    assert_null(counted_zeroed(&l, SIZE_MAX));
    assert_null(counted_resize(&l, NULL, SIZE_MAX));
    assert_int_equal(l.used, 0);
    lease_end(&l);
}

static void test_lined_memory_has_a_member_where_a_line_begins(void **state)
{
    (void)state;
    enum { ALLOCATIONS = 40, OCTETS = 100 };
    budget b;
    lease l;
    char *taken[ALLOCATIONS];
    budget_init(&b, MIB, 1);
    lease_init(&l, &b, 0, NULL);
    for (size_t i = 0; i < ALLOCATIONS; i++) {
        size_t offset = i * 8;
        taken[i] = counted_alloc_lined(&l, OCTETS + i, offset);
        assert_non_null(taken[i]);
        assert_int_equal(((uintptr_t)taken[i] + offset) % BUDGET_LINE_OCTETS, 0);
        memset(taken[i], 'x', OCTETS + i);
    }
    assert_in_range(l.used, ALLOCATIONS * OCTETS, ALLOCATIONS * (OCTETS + 160));
    for (size_t i = 0; i < ALLOCATIONS; i++)
        counted_free_lined(taken[i]);
    counted_free_lined(NULL);
    assert_null(counted_alloc_lined(&l, SIZE_MAX, 0));
    assert_null(counted_alloc_lined(&l, SIZE_MAX - BUDGET_LINE_OCTETS, 0));
    assert_int_equal(l.used, 0);
    lease_end(&l);
}

// ---- Several workers ----

static budget shared;

static void *work(void *user)
{
    uint32_t seed = (uint32_t)(uintptr_t)user, used = 0;
    lease l;
    lease_init(&l, &shared, 0, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t octets = (seed >> 8) % 20000;
        if (seed >> 31) {
            lease_add(&l, octets);
            used += octets;
        } else if (octets <= used) {
            lease_drop(&l, octets);
            used -= octets;
        }
        if (l.used != used || l.taken < used || l.taken - used >= 2 * l.step) return &shared;
    }
    lease_drop(&l, used);
    lease_end(&l);
    return NULL;
}

static void test_leases_of_threads_add_up(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    budget_init(&shared, (size_t)64 * MIB, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(budget_octets(&shared), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_begin_at_their_shares),
        cmocka_unit_test(test_steps_follow_the_size_and_the_workers),
        cmocka_unit_test(test_lease_takes_and_gives_back_in_steps),
        cmocka_unit_test(test_counted_memory_is_counted_until_it_is_freed),
        cmocka_unit_test(test_lined_memory_has_a_member_where_a_line_begins),
        cmocka_unit_test(test_leases_of_threads_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
