// SPDX-License-Identifier: MIT
//
// Crews: as many tasks at a time as there may be threads, as many waiting as there is room, each
// run once.

#include "thread/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { TASKS = 64 };

// Tasks that run until they are let go.
typedef struct hall {
    atomic_uint inside, done;
    atomic_bool open;
} hall;

typedef struct guest {
    task task; // first
    hall *hall;
    unsigned runs;
} guest;

static void guest_run(task *self)
{
    guest *g = (guest *)(void *)self;
    g->runs++;
    atomic_fetch_add(&g->hall->inside, 1);
    while (!atomic_load(&g->hall->open))
        sched_yield();
    atomic_fetch_add(&g->hall->done, 1);
}

static void guests_init(guest *guests, hall *h)
{
    for (int i = 0; i < TASKS; i++)
        guests[i] = (guest){ .task = { .run = guest_run }, .hall = h };
}

static void wait_for(const atomic_uint *number, unsigned n)
{
    while (atomic_load(number) < n)
        sched_yield();
}

// No task waits for one that runs while a thread may still be started: one might be waiting for the
// other.
static void test_thread_pool_grows_at_once(void **state)
{
    (void)state;
    hall h = { 0 };
    guest guests[TASKS];
    guests_init(guests, &h);
    thread_pool *c = thread_pool_new(8, 0);
    assert_non_null(c);
    assert_int_equal(thread_pool_submit(c, &guests[0].task), SKUA_OK);
    wait_for(&h.inside, 1);
    atomic_store(&h.open, true);
    wait_for(&h.done, 1);
    while (thread_pool_busy(c))
        sched_yield(); // one thread is there and idle
    atomic_store(&h.open, false);
    for (int i = 1; i <= 8; i++)
        assert_int_equal(thread_pool_submit(c, &guests[i].task), SKUA_OK);
    wait_for(&h.inside, 9);
    assert_int_equal(thread_pool_busy(c), 8);
    atomic_store(&h.open, true);
    thread_pool_free(c);
    for (int i = 0; i <= 8; i++)
        assert_int_equal(guests[i].runs, 1);
}

static void test_thread_pool_refuses_when_it_is_full(void **state)
{
    (void)state;
    hall h = { 0 };
    guest guests[TASKS];
    guests_init(guests, &h);
    thread_pool *c = thread_pool_new(2, 3);
    assert_non_null(c);
    for (int i = 0; i < 5; i++)
        assert_int_equal(thread_pool_submit(c, &guests[i].task), SKUA_OK);
    assert_int_equal(thread_pool_submit(c, &guests[5].task), SKUA_ELIMIT);
    wait_for(&h.inside, 2);
    assert_int_equal(thread_pool_submit(c, &guests[5].task), SKUA_ELIMIT);
    assert_int_equal(thread_pool_busy(c), 2);
    atomic_store(&h.open, true);
    wait_for(&h.done, 5);
    while (thread_pool_busy(c))
        sched_yield();
    assert_int_equal(thread_pool_submit(c, &guests[6].task), SKUA_OK);
    thread_pool_free(c);
    assert_int_equal(guests[5].runs, 0);
    assert_int_equal(guests[6].runs, 1);
}

static void test_thread_pool_runs_what_is_queued_before_it_ends(void **state)
{
    (void)state;
    hall h = { .open = true };
    guest guests[TASKS];
    guests_init(guests, &h);
    thread_pool *c = thread_pool_new(3, TASKS);
    assert_non_null(c);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thread_pool_submit(c, &guests[i].task), SKUA_OK);
    thread_pool_free(c);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(guests[i].runs, 1);
}

static void test_thread_pool_without_work(void **state)
{
    (void)state;
    thread_pool *c = thread_pool_new(1000, 1000);
    assert_non_null(c);
    assert_int_equal(thread_pool_busy(c), 0);
    thread_pool_free(c);
    thread_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thread_pool_grows_at_once),
        cmocka_unit_test(test_thread_pool_refuses_when_it_is_full),
        cmocka_unit_test(test_thread_pool_runs_what_is_queued_before_it_ends),
        cmocka_unit_test(test_thread_pool_without_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
