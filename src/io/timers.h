// SPDX-License-Identifier: MIT
//
// Deadlines: coarse and lazy. Setting one stores a tick; its place in the wheel is corrected only
// when the wheel comes to it, so that a request costs one store. They may fire up to a tick late,
// never early.
#ifndef SKUA_IO_TIMERS_H
#define SKUA_IO_TIMERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct io_deadline io_deadline;

struct io_deadline {
    io_deadline *next, **link; // in its bucket
    uint32_t due;              // tick; 0: unset
    uint32_t bucket;           // tick of the bucket it hangs in
};

enum { IO_TICK_NS = 100000000, IO_WHEEL_BUCKETS = 1024 };

typedef struct io_timers {
    io_deadline *buckets[IO_WHEEL_BUCKETS];
    uint64_t used[IO_WHEEL_BUCKETS / 64]; // one bit per bucket: something may hang in it
    int64_t clock_ns;                     // what delays count from
    uint32_t now;                         // tick of the last advance
    uint32_t count;                       // deadlines that hang in the wheel
    uint32_t first;                       // tick of the first bucket in use; UINT32_MAX: none is
    void (*fired)(io_deadline *deadline, void *user);
    void *user;
} io_timers;

void io_timers_init(io_timers *timers, int64_t now_ns, void (*fired)(io_deadline *, void *),
                    void *user);

// Tells the time without firing: a backend does so when it reads the clock, since what its
// callbacks set after a long wait counts from then and not from the last advance.
static inline void io_timers_clock(io_timers *timers, int64_t now_ns)
{
    timers->clock_ns = now_ns;
}

// Sets or moves a deadline to delay_ns from now, rounded up to a tick.
void io_deadline_set(io_timers *timers, io_deadline *deadline, int64_t delay_ns);

// Forgets it, lazily: it stays in the wheel until that comes by. fired is not called.
static inline void io_deadline_unset(io_deadline *deadline)
{
    deadline->due = 0;
}

// Takes it out of the wheel, before its memory goes.
void io_deadline_remove(io_timers *timers, io_deadline *deadline);

// Fires what is due.
void io_timers_advance(io_timers *timers, int64_t now_ns);

// Nanoseconds until there may be something to do; -1: nothing hangs in the wheel.
int64_t io_timers_wait_ns(const io_timers *timers, int64_t now_ns);

#endif
