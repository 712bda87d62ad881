// SPDX-License-Identifier: MIT
//
// Gate: one word, so that entering and closing are in an order that both sides agree on.

#include "thread/gate.h"

#include <sched.h>

enum { GATE_OPEN = 1, GATE_VISITOR = 2 };

void gate_open(gate *g)
{
    atomic_fetch_or_explicit(&g->shared.word, GATE_OPEN, memory_order_acq_rel);
}

void gate_close(gate *g)
{
    atomic_fetch_and_explicit(&g->shared.word, ~(unsigned)GATE_OPEN, memory_order_acq_rel);
}

bool gate_enter(gate *g)
{
    unsigned before =
        atomic_fetch_add_explicit(&g->shared.word, GATE_VISITOR, memory_order_acq_rel);
    if (before & GATE_OPEN) return true;
    gate_leave(g);
    return false;
}

void gate_leave(gate *g)
{
    atomic_fetch_sub_explicit(&g->shared.word, GATE_VISITOR, memory_order_release);
}

bool gate_is_empty(const gate *g)
{
    return atomic_load_explicit(&g->shared.word, memory_order_acquire) == 0;
}

void gate_wait(const gate *g)
{
    while (!gate_is_empty(g))
        sched_yield();
}
