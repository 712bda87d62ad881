// SPDX-License-Identifier: MIT
//
// Timers of a worker. Each has a slot of a registry, so that a handle of one that is over is known
// as such for as long as the process lives. One that fires for the last time is over before its
// function is called.

#include "server/timer.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/registry.h"

#include <stddef.h>

typedef struct timer {
    registry_slot slot; // first
    io_alarm alarm;
    skua_worker *worker;
    skua_timer_fn *fn;
    void *user;
    int64_t period_ns; // 0: once
} timer;

static registry timer_registry = REGISTRY_OF(timer);

// Nobody waits a hundred years; larger numbers would overflow the clock.
static const int64_t timer_delay_max_ns = (int64_t)86400 * 36525 * 1000000000;

static int64_t timer_bound_ns(int64_t ns)
{
    if (ns < 0) return 0;
    return ns < timer_delay_max_ns ? ns : timer_delay_max_ns;
}

static timer *timer_of_alarm(io_alarm *alarm)
{
    return (timer *)(void *)((char *)alarm - offsetof(timer, alarm));
}

// A repeating timer keeps its beat. Beats that were missed are left out, so that a late worker is
// not made later.
static int64_t timer_next_ns(const timer *t, int64_t now_ns)
{
    int64_t late = now_ns - t->alarm.due_ns;
    return t->alarm.due_ns + (late / t->period_ns + 1) * t->period_ns;
}

// A timer whose alarm is not set ends, and its slot is free for another.
static void timer_end(timer *t)
{
    registry_advance(&t->slot);
    registry_put(&t->worker->free_timers, &t->slot);
}

static void timer_fired(io_alarm *alarm, void *user)
{
    skua_worker *w = user;
    timer *t = timer_of_alarm(alarm);
    skua_timer_fn *fn = t->fn;
    void *fn_user = t->user;
    if (t->period_ns) { // before fn, which may take the place that is free in the heap
        skua_status set = io_alarm_set(&w->loop.alarms, alarm, timer_next_ns(t, w->loop.now_ns));
        SKUA_ASSERT(set == SKUA_OK);
    } else {
        timer_end(t);
    }
    fn(w, fn_user); // which may stop it: nothing of it is looked at afterwards
}

// The slot is opened last, when nothing can fail any more: from then on its handle names it.
skua_status skua_timer_start(skua_worker *w, int64_t delay_ns, int64_t period_ns, skua_timer_fn *fn,
                             void *user, skua_timer *handle)
{
    home_expect(w, __func__);
    CONTRACT_GIVEN(fn);
    registry_slot *slot;
    skua_status status = registry_take(&timer_registry, &w->free_timers, &slot);
    if (status) return status;
    timer *t = (timer *)(void *)slot;
    t->alarm = (io_alarm){ .fired = timer_fired };
    t->worker = w;
    t->fn = fn;
    t->user = user;
    t->period_ns = timer_bound_ns(period_ns);
    int64_t due_ns = io_loop_clock_ns(&w->loop) + timer_bound_ns(delay_ns);
    status = io_alarm_set(&w->loop.alarms, &t->alarm, due_ns);
    if (status) {
        registry_put(&w->free_timers, slot);
        return status;
    }
    uint64_t value = registry_open(slot);
    if (handle) *handle = (skua_timer){ value };
    return SKUA_OK;
}

bool skua_timer_stop(skua_timer handle)
{
    uint64_t word;
    registry_slot *slot = registry_look_up(&timer_registry, handle.value, &word);
    if (!slot || atomic_load_explicit(&slot->shared.word, memory_order_acquire) != word)
        return false;
    timer *t = (timer *)(void *)slot;
    home_expect(t->worker, __func__);
    io_alarm_unset(&t->worker->loop.alarms, &t->alarm);
    timer_end(t);
    return true;
}

void timers_drop(skua_worker *w)
{
    for (io_alarm *alarm; (alarm = io_alarms_first(&w->loop.alarms));) {
        io_alarm_unset(&w->loop.alarms, alarm);
        timer_end(timer_of_alarm(alarm));
    }
    registry_give_back(&timer_registry, &w->free_timers);
}
