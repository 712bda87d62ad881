// SPDX-License-Identifier: MIT
//
// Timers of a worker. One is freed when it is stopped, when it has fired for the last time, or with
// its worker;
// while its function runs, only once that has returned.

#include "server/timer.h"

#include "base/assert.h"
#include "base/memory.h"

#include <stddef.h>

struct skua_timer {
    io_alarm alarm; // first
    skua_timer_fn *fn;
    void *user;
    int64_t period_ns; // 0: once
    bool firing;
    bool stopped;
};

// Nobody waits a hundred years; larger numbers would overflow the clock.
static const int64_t timer_delay_max_ns = (int64_t)86400 * 36525 * 1000000000;

static int64_t timer_bound_ns(int64_t ns)
{
    if (ns < 0) return 0;
    return ns < timer_delay_max_ns ? ns : timer_delay_max_ns;
}

// A repeating timer keeps its beat. Beats that were missed are left out, so that a late worker is
// not made later.
static int64_t timer_next_ns(const skua_timer *timer, int64_t now_ns)
{
    int64_t late = now_ns - timer->alarm.due_ns;
    return timer->alarm.due_ns + (late / timer->period_ns + 1) * timer->period_ns;
}

static void timer_fired(io_alarm *alarm, void *user)
{
    skua_worker *w = user;
    skua_timer *timer = (skua_timer *)(void *)alarm;
    if (timer->period_ns) { // before fn, which may take the place that is free in the heap
        skua_status set =
            io_alarm_set(&w->loop.alarms, alarm, timer_next_ns(timer, w->loop.now_ns));
        SKUA_ASSERT(set == SKUA_OK);
    }
    timer->firing = true;
    timer->fn(w, timer->user);
    timer->firing = false;
    if (timer->stopped || timer->period_ns == 0) memory_free(timer);
}

skua_status skua_timer_start(skua_worker *w, int64_t delay_ns, int64_t period_ns, skua_timer_fn *fn,
                             void *user, skua_timer **timer)
{
    SKUA_ASSERT(fn);
    skua_timer *made = memory_zeroed(sizeof *made);
    if (!made) return SKUA_ENOMEM;
    made->alarm.fired = timer_fired;
    made->fn = fn;
    made->user = user;
    made->period_ns = timer_bound_ns(period_ns);
    int64_t due_ns = io_loop_clock_ns(&w->loop) + timer_bound_ns(delay_ns);
    skua_status status = io_alarm_set(&w->loop.alarms, &made->alarm, due_ns);
    if (status) {
        memory_free(made);
        return status;
    }
    if (timer) *timer = made;
    return SKUA_OK;
}

void skua_timer_stop(skua_worker *w, skua_timer *timer)
{
    if (!timer) return;
    SKUA_ASSERT(!timer->stopped);
    timer->stopped = true;
    io_alarm_unset(&w->loop.alarms, &timer->alarm);
    if (!timer->firing) memory_free(timer);
}

void timers_drop(skua_worker *w)
{
    for (io_alarm *alarm; (alarm = io_alarms_first(&w->loop.alarms));) {
        io_alarm_unset(&w->loop.alarms, alarm);
        memory_free((skua_timer *)(void *)alarm);
    }
}
