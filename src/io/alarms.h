// SPDX-License-Identifier: MIT
//
// Alarms: precise timers, in nanoseconds, in a binary heap. For what a program asks to be called
// at; deadlines of connections, which are many and nearly always unset, are in timers.h.
#ifndef SKUA_IO_ALARMS_H
#define SKUA_IO_ALARMS_H

#include "base/slice.h"

typedef struct io_alarm io_alarm;

struct io_alarm {
    int64_t due_ns;
    uint64_t order; // of setting: those due at the same time fire in it
    size_t index;   // in the heap, from 1; 0: not set
    void (*fired)(io_alarm *alarm, void *user);
};

typedef struct io_alarms {
    io_alarm **heap; // heap[1] is the next to fire
    size_t count, room;
    uint64_t order;
    void *user; // for fired
} io_alarms;

void io_alarms_init(io_alarms *alarms, void *user);
void io_alarms_deinit(io_alarms *alarms); // none may be set

// Sets one that is not set, for due_ns on the loop's clock. alarm: stays where it is until it has
// fired or is unset.
// Errors: SKUA_ENOMEM; never when one has fired or been unset since the last success, or room has been reserved.
skua_status io_alarm_set(io_alarms *alarms, io_alarm *alarm, int64_t due_ns);

// Makes room for one more, which may be set then. Returns: whether there is memory for it.
bool io_alarms_reserve(io_alarms *alarms);

// Unsets it; nothing if it is not set.
void io_alarm_unset(io_alarms *alarms, io_alarm *alarm);

// The next to fire; NULL: none is set.
io_alarm *io_alarms_first(const io_alarms *alarms);

// Fires what is due, each alarm that is set now at most once, so that setting it anew for at once
// cannot go on for ever. An alarm is unset before it fires.
void io_alarms_fire(io_alarms *alarms, int64_t now_ns);

// Nanoseconds until the next one is due; -1: none is set.
int64_t io_alarms_wait_ns(const io_alarms *alarms, int64_t now_ns);

#endif
