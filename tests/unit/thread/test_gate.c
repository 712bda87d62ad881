// SPDX-License-Identifier: MIT
//
// Gates: whoever is inside was let in before the closing, and is waited for. SKUA_SOAK_ROUNDS=N plays
// longer.

#include "thread/gate.h"

#include "support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { VISITORS = 4, ROUNDS = 50, LOOKS = 200000 };

static void test_gate_zeroed_is_closed(void **state)
{
    (void)state;
    gate g = { 0 };
    assert_true(gate_is_empty(&g));
    assert_false(gate_enter(&g));
    assert_true(gate_is_empty(&g));
}

static void test_gate_waits_for_those_inside(void **state)
{
    (void)state;
    gate g = { 0 };
    gate_open(&g);
    assert_false(gate_is_empty(&g));
    assert_true(gate_enter(&g));
    assert_true(gate_enter(&g));
    gate_close(&g);
    gate_close(&g);
    assert_false(gate_enter(&g));
    gate_leave(&g);
    assert_false(gate_is_empty(&g));
    gate_leave(&g);
    assert_true(gate_is_empty(&g));
    gate_wait(&g);
    gate_open(&g);
    assert_true(gate_enter(&g));
    gate_leave(&g);
}

// The value inside is read and written without further ado: the thread sanitizer watches the order.
typedef struct house {
    gate gate;
    int *room; // NULL once the gate was found empty
    atomic_uint visits;
} house;

static void *visit(void *user)
{
    house *h = user;
    while (gate_enter(&h->gate)) {
        if (h->room && *h->room == 7) atomic_fetch_add(&h->visits, 1);
        gate_leave(&h->gate);
        sched_yield();
    }
    return NULL;
}

static void test_gate_is_empty_when_it_says_so(void **state)
{
    (void)state;
    for (unsigned round = support_rounds(ROUNDS); round; round--) {
        int room = 7;
        house h = { .room = &room };
        pthread_t threads[VISITORS];
        gate_open(&h.gate);
        for (int i = 0; i < VISITORS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, visit, &h), 0);
        while (atomic_load(&h.visits) == 0)
            sched_yield();
        gate_close(&h.gate);
        gate_wait(&h.gate);
        room = 8;
        h.room = NULL;
        unsigned visits = atomic_load(&h.visits);
        for (int i = 0; i < VISITORS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(atomic_load(&h.visits), visits);
    }
}

// The thread that closes looks once, and is woken by nobody when a visitor that was refused goes
// away.
typedef struct closed_house {
    gate gate;
    atomic_bool left;
} closed_house;

static void *knock(void *user)
{
    closed_house *h = user;
    while (!atomic_load(&h->left))
        assert_false(gate_enter(&h->gate));
    return NULL;
}

static void test_gate_that_is_closed_stays_empty(void **state)
{
    (void)state;
    closed_house h = { .left = false };
    pthread_t threads[VISITORS];
    unsigned long times_not_empty = 0;
    for (int i = 0; i < VISITORS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, knock, &h), 0);
    for (int i = 0; i < LOOKS; i++)
        times_not_empty += !gate_is_empty(&h.gate);
    atomic_store(&h.left, true);
    for (int i = 0; i < VISITORS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(times_not_empty, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gate_zeroed_is_closed),
        cmocka_unit_test(test_gate_waits_for_those_inside),
        cmocka_unit_test(test_gate_is_empty_when_it_says_so),
        cmocka_unit_test(test_gate_that_is_closed_stays_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
