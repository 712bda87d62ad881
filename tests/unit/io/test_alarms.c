// SPDX-License-Identifier: MIT
//
// Alarms against a plain list: never early, in order, once each.

#include "io/alarms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ITEMS = 200, ROUNDS = 20000 };

typedef struct item {
    io_alarm alarm; // first
    int64_t due_ns; // -1: not set
    uint64_t order;
} item;

typedef struct play {
    io_alarms alarms;
    item items[ITEMS];
    int64_t now_ns, last_ns;
    uint64_t last_order, orders, random;
    unsigned fired;
    item *unsets; // fired() unsets this one too
    bool again;   // fired() sets its alarm anew for now
} play;

static uint64_t dice(play *p, uint64_t n)
{
    p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (p->random >> 33) % n;
}

static void set(play *p, item *it, int64_t due_ns)
{
    assert_int_equal(io_alarm_set(&p->alarms, &it->alarm, due_ns), SKUA_OK);
    it->due_ns = due_ns;
    it->order = p->orders++;
}

static void unset(play *p, item *it)
{
    io_alarm_unset(&p->alarms, &it->alarm);
    it->due_ns = -1;
}

static void fired(io_alarm *alarm, void *user)
{
    play *p = user;
    item *it = (item *)(void *)alarm;
    assert_true(it->due_ns >= 0 && it->due_ns <= p->now_ns);
    assert_true(it->due_ns > p->last_ns || (it->due_ns == p->last_ns && it->order > p->last_order));
    p->last_ns = it->due_ns;
    p->last_order = it->order;
    it->due_ns = -1;
    p->fired++;
    if (p->unsets) unset(p, p->unsets);
    p->unsets = NULL;
    if (p->again) set(p, it, p->now_ns);
}

static void play_init(play *p)
{
    *p = (play){ .random = 7 };
    io_alarms_init(&p->alarms, p);
    for (int i = 0; i < ITEMS; i++) {
        p->items[i].alarm.fired = fired;
        p->items[i].due_ns = -1;
    }
}

static void play_end(play *p)
{
    for (int i = 0; i < ITEMS; i++)
        unset(p, &p->items[i]);
    io_alarms_deinit(&p->alarms);
}

static int64_t earliest_ns(const play *p)
{
    int64_t earliest = -1;
    for (int i = 0; i < ITEMS; i++) {
        int64_t due = p->items[i].due_ns;
        if (due >= 0 && (earliest < 0 || due < earliest)) earliest = due;
    }
    return earliest;
}

static void advance(play *p, int64_t ns)
{
    p->now_ns += ns;
    p->last_ns = -1;
    if (dice(p, 4) == 0) p->unsets = &p->items[dice(p, ITEMS)];
    io_alarms_fire(&p->alarms, p->now_ns);
    int64_t earliest = earliest_ns(p);
    assert_true(earliest < 0 || earliest > p->now_ns);
    assert_int_equal(io_alarms_wait_ns(&p->alarms, p->now_ns),
                     earliest < 0 ? -1 : earliest - p->now_ns);
}

static void fires_what_a_list_would(void **state)
{
    (void)state;
    static play p;
    play_init(&p);
    for (int round = 0; round < ROUNDS; round++) {
        item *it = &p.items[dice(&p, ITEMS)];
        if (it->due_ns >= 0) unset(&p, it);
        else set(&p, it, p.now_ns + 1 + (int64_t)dice(&p, 1000));
        if (dice(&p, 3) == 0) advance(&p, (int64_t)dice(&p, 50));
    }
    assert_in_range(p.fired, 1000, ROUNDS);
    play_end(&p);
}

static void those_of_one_time_fire_in_order_of_setting(void **state)
{
    (void)state;
    static play p;
    play_init(&p);
    for (int i = 0; i < ITEMS; i++)
        set(&p, &p.items[i], 5);
    advance(&p, 5);
    assert_int_equal(p.fired, ITEMS);
    play_end(&p);
}

// One that sets itself for at once would otherwise keep the loop for ever.
static void one_that_is_set_anew_waits_for_the_next_turn(void **state)
{
    (void)state;
    static play p;
    play_init(&p);
    p.again = true;
    set(&p, &p.items[0], 0);
    for (unsigned turn = 1; turn <= 3; turn++) {
        p.last_ns = -1;
        io_alarms_fire(&p.alarms, p.now_ns);
        assert_int_equal(p.fired, turn);
        assert_int_equal(io_alarms_wait_ns(&p.alarms, p.now_ns), 0);
    }
    play_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_what_a_list_would),
        cmocka_unit_test(those_of_one_time_fire_in_order_of_setting),
        cmocka_unit_test(one_that_is_set_anew_waits_for_the_next_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
