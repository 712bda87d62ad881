// SPDX-License-Identifier: MIT
//
// Deadlines against a plain list: never early, at most a tick late, once each.

#include "io/timers.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ITEMS = 64, ROUNDS = 4000, SEEDS = 20 };

static const int64_t second_ns = 1000000000;

typedef struct item {
    io_deadline deadline;
    int64_t due_ns; // -1: unset
    unsigned fired;
} item;

typedef struct bench {
    io_timers timers;
    item items[ITEMS];
    int64_t now_ns;
    uint64_t random;
    item *removes; // fired() removes this one too
} bench;

static uint64_t bench_random(bench *b)
{
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return b->random;
}

static void bench_fired(io_deadline *deadline, void *user)
{
    bench *b = user;
    item *it = (item *)(void *)deadline;
    assert_true(it->due_ns >= 0);
    assert_true(b->now_ns >= it->due_ns);
    it->due_ns = -1;
    it->fired++;
    if (b->removes) {
        io_deadline_remove(&b->timers, &b->removes->deadline);
        b->removes->due_ns = -1;
        b->removes = NULL;
    }
}

static void bench_init(bench *b, int64_t now_ns)
{
    *b = (bench){ .now_ns = now_ns, .random = 88172645463325252u };
    for (int i = 0; i < ITEMS; i++)
        b->items[i].due_ns = -1;
    io_timers_init(&b->timers, now_ns, bench_fired, b);
}

static void bench_set(bench *b, item *it, int64_t delay_ns)
{
    it->due_ns = b->now_ns + delay_ns;
    io_deadline_set(&b->timers, &it->deadline, delay_ns);
}

static void bench_advance(bench *b, int64_t now_ns)
{
    b->now_ns = now_ns;
    io_timers_advance(&b->timers, now_ns);
    for (int i = 0; i < ITEMS; i++) {
        if (b->items[i].due_ns >= 0) assert_true(b->items[i].due_ns + IO_TICK_NS > now_ns);
    }
}

static void test_fires_between_due_and_a_tick_later(void **state)
{
    (void)state;
    static const int64_t delays[] = {
        0,
        1,
        IO_TICK_NS - 1,
        IO_TICK_NS,
        IO_TICK_NS + 1,
        10000000000,
        102300000000,
        102400000000,
        102500000000,
        3600000000000,
        86400000000000,
    };
    static const int64_t starts[] = { 0, 1, IO_TICK_NS - 1, IO_TICK_NS, 123456789012345 };
    for (size_t d = 0; d < sizeof delays / sizeof *delays; d++) {
        for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
            bench b;
            bench_init(&b, starts[s]);
            bench_set(&b, &b.items[0], delays[d]);
            while (b.items[0].fired == 0) {
                int64_t wait = io_timers_wait_ns(&b.timers, b.now_ns);
                assert_true(wait >= 0);
                bench_advance(&b, b.now_ns + wait);
            }
            assert_true(b.now_ns < starts[s] + delays[d] + 2 * (int64_t)IO_TICK_NS);
            assert_int_equal(io_timers_wait_ns(&b.timers, b.now_ns), -1);
            assert_int_equal(b.timers.count, 0);
        }
    }
}

static void test_moving_later_costs_no_move_in_the_wheel(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 5 * second_ns);
    bench_set(&b, &b.items[0], second_ns);
    uint32_t bucket = b.items[0].deadline.bucket;
    bench_set(&b, &b.items[0], 2 * second_ns);
    assert_int_equal(b.items[0].deadline.bucket, bucket);
    bench_advance(&b, 6 * second_ns + 3 * (int64_t)IO_TICK_NS);
    assert_int_equal(b.items[0].fired, 0);
    bench_advance(&b, 7 * second_ns + IO_TICK_NS);
    assert_int_equal(b.items[0].fired, 1);
}

static void test_moving_earlier_fires_earlier(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 0);
    bench_set(&b, &b.items[0], 3600 * second_ns);
    bench_set(&b, &b.items[0], second_ns);
    bench_advance(&b, second_ns + IO_TICK_NS);
    assert_int_equal(b.items[0].fired, 1);
    bench_advance(&b, 4000 * second_ns);
    assert_int_equal(b.items[0].fired, 1);
}

static void test_delay_counts_from_the_clock_not_from_the_last_advance(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 0);
    b.now_ns = 7200 * second_ns; // the loop slept for two hours, and events come before the advance
    io_timers_clock(&b.timers, b.now_ns);
    bench_set(&b, &b.items[0], 10 * second_ns);
    bench_advance(&b, b.now_ns);
    assert_int_equal(b.items[0].fired, 0);
    bench_advance(&b, b.now_ns + 10 * second_ns + IO_TICK_NS);
    assert_int_equal(b.items[0].fired, 1);
}

static void test_long_sleep_fires_everything_once(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, second_ns);
    for (int i = 0; i < ITEMS; i++)
        bench_set(&b, &b.items[i], i * 17 * second_ns);
    bench_advance(&b, 1000000 * second_ns);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(b.items[i].fired, 1);
}

static void test_fired_may_remove_its_neighbour(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 0);
    for (int i = 0; i < 3; i++)
        bench_set(&b, &b.items[i], second_ns);
    b.removes = &b.items[1]; // the last one linked fires first, and this one is next in its bucket
    bench_advance(&b, 2 * second_ns);
    assert_int_equal(b.items[0].fired, 1);
    assert_int_equal(b.items[1].fired, 0);
    assert_int_equal(b.items[2].fired, 1);
    assert_int_equal(b.timers.count, 0);
}

static void test_removing_twice_and_unset(void **state)
{
    (void)state;
    bench b;
    bench_init(&b, 0);
    bench_set(&b, &b.items[0], second_ns);
    bench_set(&b, &b.items[1], second_ns);
    io_deadline_remove(&b.timers, &b.items[0].deadline);
    io_deadline_remove(&b.timers, &b.items[0].deadline);
    b.items[0].due_ns = -1;
    io_deadline_unset(&b.items[1].deadline);
    b.items[1].due_ns = -1;
    assert_int_equal(b.timers.count, 1); // lazily: the wheel forgets it when it comes by
    bench_advance(&b, 2 * second_ns);
    assert_int_equal(b.timers.count, 0);
    assert_int_equal(b.items[0].fired + b.items[1].fired, 0);
}

static void random_step(bench *b)
{
    item *it = &b->items[bench_random(b) % ITEMS];
    int64_t span = bench_random(b) % 8 ? 20 * second_ns : 500 * second_ns;
    switch (bench_random(b) % 6) {
    case 0:
        io_deadline_remove(&b->timers, &it->deadline);
        it->due_ns = -1;
        break;
    case 1:
        io_deadline_unset(&it->deadline);
        it->due_ns = -1;
        break;
    case 2: bench_advance(b, b->now_ns + (int64_t)(bench_random(b) % (uint64_t)span) / 10); break;
    case 3: {
        int64_t wait = io_timers_wait_ns(&b->timers, b->now_ns);
        if (wait >= 0) bench_advance(b, b->now_ns + wait);
        break;
    }
    default: bench_set(b, it, (int64_t)(bench_random(b) % (uint64_t)span)); break;
    }
}

static void test_random_operations_against_the_list(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bench b;
        bench_init(&b, (int64_t)seed * 1234567);
        b.random ^= seed * 0x9e3779b97f4a7c15u;
        for (int i = 0; i < ROUNDS; i++)
            random_step(&b);
        bench_advance(&b, b.now_ns + 1000 * second_ns);
        assert_int_equal(b.timers.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fires_between_due_and_a_tick_later),
        cmocka_unit_test(test_moving_later_costs_no_move_in_the_wheel),
        cmocka_unit_test(test_moving_earlier_fires_earlier),
        cmocka_unit_test(test_delay_counts_from_the_clock_not_from_the_last_advance),
        cmocka_unit_test(test_long_sleep_fires_everything_once),
        cmocka_unit_test(test_fired_may_remove_its_neighbour),
        cmocka_unit_test(test_removing_twice_and_unset),
        cmocka_unit_test(test_random_operations_against_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
