// SPDX-License-Identifier: MIT
//
// Timers: a handle stops its own timer and no other, whatever has become of that. When they fire
// is tested in test_foreign.c.

#include "server/timer.h"

#include "base/registry.h"
#include "server/server.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MANY = 300 };

static const int64_t hour_ns = (int64_t)3600 * 1000000000;

// A server that is turned by hand, and what its timers have done.
typedef struct bench {
    skua_server *server;
    skua_worker *worker;
    skua_timer timer;
    unsigned fired;
    bool stops_itself, stopped;
} bench;

static void bench_begins(skua_worker *worker, void *user)
{
    ((bench *)user)->worker = worker;
}

static void bench_open(bench *b)
{
    skua_config config = {
        .listen = "127.0.0.1:0", .backend = "epoll", .on_worker_start = bench_begins, .hook_user = b
    };
    if (!io_backend_find("epoll")) config.backend = NULL;
    *b = (bench){ .server = skua_server_new(&config) };
    assert_non_null(b->server);
    assert_int_equal(skua_open(b->server), SKUA_OK);
    assert_non_null(b->worker);
}

static void fired(skua_worker *worker, void *user)
{
    bench *b = user;
    assert_ptr_equal(worker, b->worker);
    b->fired++;
    if (b->stops_itself) b->stopped = skua_timer_stop(b->timer);
}

static void bench_start(bench *b, int64_t delay_ns, int64_t period_ns)
{
    assert_int_equal(skua_timer_start(b->worker, delay_ns, period_ns, fired, b, &b->timer),
                     SKUA_OK);
    assert_true(b->timer.value != 0);
}

static void bench_turn_until(bench *b, unsigned count)
{
    while (b->fired < count)
        assert_int_equal(skua_turn(b->server, -1), SKUA_OK);
    assert_int_equal(b->fired, count);
}

static void a_timer_is_stopped_once(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, hour_ns, 0);
    assert_true(skua_timer_stop(b.timer));
    assert_false(skua_timer_stop(b.timer));
    assert_false(skua_timer_stop((skua_timer){ 0 }));
    assert_false(skua_timer_stop((skua_timer){ UINT64_MAX }));
    skua_server_free(b.server);
}

static void one_that_has_fired_is_over(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, 0, 0);
    bench_turn_until(&b, 1);
    assert_false(skua_timer_stop(b.timer));
    b.stops_itself = true;
    b.stopped = true;
    bench_start(&b, 0, 0);
    bench_turn_until(&b, 2);
    assert_false(b.stopped); // over before its function is called
    skua_server_free(b.server);
}

static void one_that_repeats_is_stopped_from_inside(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    b.stops_itself = true;
    bench_start(&b, 0, 1);
    bench_turn_until(&b, 1);
    assert_true(b.stopped);
    b.stops_itself = false;
    bench_start(&b, 0, 0); // most likely in the same slot
    bench_turn_until(&b, 2);
    skua_server_free(b.server);
}

static void an_old_handle_stops_no_other_timer(void **state)
{
    (void)state;
    bench b;
    skua_timer old[MANY];
    bench_open(&b);
    for (int i = 0; i < MANY; i++) {
        bench_start(&b, hour_ns, 0);
        old[i] = b.timer;
        assert_true(skua_timer_stop(b.timer));
    }
    bench_start(&b, hour_ns, 0);
    for (int i = 0; i < MANY; i++)
        assert_false(skua_timer_stop(old[i]));
    assert_true(skua_timer_stop(b.timer));
    skua_server_free(b.server);
}

static void handles_outlive_their_worker_and_server(void **state)
{
    (void)state;
    bench b, later;
    bench_open(&b);
    bench_start(&b, hour_ns, 0);
    skua_server_free(b.server);
    assert_false(skua_timer_stop(b.timer));
    bench_open(&later);
    for (int i = 0; i < MANY; i++) // all slots that the first has given back
        bench_start(&later, hour_ns, 0);
    assert_false(skua_timer_stop(b.timer));
    assert_true(skua_timer_stop(later.timer));
    skua_server_free(later.server);
}

// A slot whose generations are used up is never used again.
static void handles_do_not_come_round(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    bench_start(&b, hour_ns, 0);
    uint32_t index = (uint32_t)b.timer.value & ((1u << REGISTRY_INDEX_BITS) - 1);
    registry_slot *slot = b.worker->free_timers;
    assert_true(skua_timer_stop(b.timer));
    assert_ptr_not_equal(b.worker->free_timers, slot);
    slot = b.worker->free_timers;
    assert_int_equal(slot->index, index);
    uint64_t last = (UINT64_C(1) << REGISTRY_GENERATION_BITS) - 2;
    atomic_store(&slot->shared.word, last << 1 | 1);
    bench_start(&b, hour_ns, 0);
    assert_int_equal(b.timer.value, last << REGISTRY_INDEX_BITS | index);
    assert_true(skua_timer_stop(b.timer));
    assert_ptr_not_equal(b.worker->free_timers, slot);
    assert_false(skua_timer_stop(b.timer));
    skua_server_free(b.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_is_stopped_once),
        cmocka_unit_test(one_that_has_fired_is_over),
        cmocka_unit_test(one_that_repeats_is_stopped_from_inside),
        cmocka_unit_test(an_old_handle_stops_no_other_timer),
        cmocka_unit_test(handles_outlive_their_worker_and_server),
        cmocka_unit_test(handles_do_not_come_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
