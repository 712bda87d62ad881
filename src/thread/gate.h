// SPDX-License-Identifier: MIT
//
// Gate: lets threads in until it is closed, and then tells when the last of them has left. Zeroed,
// it is closed.
#ifndef SKUA_THREAD_GATE_H
#define SKUA_THREAD_GATE_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct gate {
    struct {
        atomic_uint word; // how many are inside, times two; and one while it is open
    } shared;
} gate;

void gate_open(gate *g);

// Lets no more in.
void gate_close(gate *g);

// Returns whether the caller is inside, and must leave again.  Thread: any, and signal handlers.
bool gate_enter(gate *g);
void gate_leave(gate *g);

// Whether it is closed and no thread is inside. The effects of those that were inside are then
// visible.
bool gate_is_empty(const gate *g);

// Waits for that: short, for those inside never wait themselves.
void gate_wait(const gate *g);

#endif
