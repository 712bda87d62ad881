// SPDX-License-Identifier: MIT
//
// A wheel of buckets, one per tick. Invariant: a deadline hangs in the bucket of its tick `bucket`,
// which is later than `now`, at most a turn of the wheel away, and not later than `due` unless that
// has passed.

#include "io/timers.h"

#include "base/assert.h"

#include <string.h>

// Some seven years; more would overflow the tick.
static const int64_t timers_delay_max_ns = (int64_t)IO_TICK_NS * INT32_MAX;

static uint32_t timers_tick_of(int64_t now_ns)
{
    return (uint32_t)(now_ns / IO_TICK_NS);
}

// The tick at whose beginning delay_ns has passed. Not 0, which is unset.
static uint32_t timers_due(const io_timers *timers, int64_t delay_ns)
{
    if (delay_ns < 0) delay_ns = 0;
    if (delay_ns > timers_delay_max_ns) delay_ns = timers_delay_max_ns;
    uint32_t due = timers_tick_of(timers->clock_ns + delay_ns + IO_TICK_NS - 1);
    return due ? due : 1;
}

static void timers_link(io_timers *timers, io_deadline *deadline)
{
    uint32_t bucket = deadline->due;
    if (bucket <= timers->now) bucket = timers->now + 1;
    if (bucket - timers->now >= IO_WHEEL_BUCKETS) bucket = timers->now + IO_WHEEL_BUCKETS - 1;
    uint32_t slot = bucket % IO_WHEEL_BUCKETS;
    io_deadline **head = &timers->buckets[slot];
    deadline->bucket = bucket;
    deadline->next = *head;
    deadline->link = head;
    if (*head) (*head)->link = &deadline->next;
    *head = deadline;
    timers->used[slot / 64] |= UINT64_C(1) << slot % 64;
    timers->count++;
    if (bucket < timers->first) timers->first = bucket;
}

// The bucket's bit stays: clearing it would cost more than a wake-up for nothing.
static void timers_unlink(io_timers *timers, io_deadline *deadline)
{
    SKUA_ASSERT(timers->count > 0);
    *deadline->link = deadline->next;
    if (deadline->next) deadline->next->link = deadline->link;
    deadline->next = NULL;
    deadline->link = NULL;
    timers->count--;
}

void io_timers_init(io_timers *timers, int64_t now_ns, void (*fired)(io_deadline *, void *),
                    void *user)
{
    memset(timers, 0, sizeof *timers);
    timers->clock_ns = now_ns;
    timers->now = timers_tick_of(now_ns);
    timers->first = UINT32_MAX;
    timers->fired = fired;
    timers->user = user;
}

void io_deadline_set(io_timers *timers, io_deadline *deadline, int64_t delay_ns)
{
    deadline->due = timers_due(timers, delay_ns);
    if (deadline->link) {
        if (deadline->bucket <= deadline->due) return; // moved on when the wheel comes there
        timers_unlink(timers, deadline);
    }
    timers_link(timers, deadline);
}

void io_deadline_remove(io_timers *timers, io_deadline *deadline)
{
    deadline->due = 0;
    if (deadline->link) timers_unlink(timers, deadline);
}

// Out of the wheel; fired, forgotten or hung up again further on.
static void timers_visit(io_timers *timers, io_deadline *deadline)
{
    timers_unlink(timers, deadline);
    if (deadline->due == 0) return;
    if (deadline->due > timers->now) {
        timers_link(timers, deadline);
        return;
    }
    deadline->due = 0;
    timers->fired(deadline, timers->user);
}

// One tick. Nothing is hung into the bucket meanwhile, since that would be a whole turn away, but
// anything may be removed from it by fired(): so always from the head.
static void timers_step(io_timers *timers)
{
    uint32_t slot = ++timers->now % IO_WHEEL_BUCKETS;
    timers->used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
    while (timers->buckets[slot])
        timers_visit(timers, timers->buckets[slot]);
}

static uint32_t timers_find_first(const io_timers *timers)
{
    for (uint32_t ahead = 1; ahead <= IO_WHEEL_BUCKETS;) {
        uint32_t slot = (timers->now + ahead) % IO_WHEEL_BUCKETS;
        uint64_t bits = timers->used[slot / 64] >> slot % 64;
        if (bits) return timers->now + ahead + (uint32_t)__builtin_ctzll(bits);
        ahead += 64 - slot % 64;
    }
    return UINT32_MAX;
}

// The first bucket in use is looked for once a tick: every turn asks how long it may wait.
void io_timers_advance(io_timers *timers, int64_t now_ns)
{
    uint32_t tick = timers_tick_of(now_ns);
    timers->clock_ns = now_ns;
    if (tick <= timers->now) return;
    // After a long sleep one turn of the wheel comes by everything.
    if (tick - timers->now > IO_WHEEL_BUCKETS) timers->now = tick - IO_WHEEL_BUCKETS;
    while (timers->now < tick)
        timers_step(timers);
    timers->first = timers_find_first(timers);
}

int64_t io_timers_wait_ns(const io_timers *timers, int64_t now_ns)
{
    if (timers->count == 0) return -1;
    SKUA_ASSERT(timers->first > timers->now);
    int64_t wait = (int64_t)timers->first * IO_TICK_NS - now_ns;
    return wait > 0 ? wait : 0;
}
