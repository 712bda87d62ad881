// SPDX-License-Identifier: MIT
//
// Gate: one word, so that entering and closing are in an order that both sides agree on. Whoever is
// refused has never written to it: a gate that is closed and empty stays so, and whoever closed it
// need not look again.
// The order is that of all sequentially consistent operations, so that it also holds against other
// words: a thread that writes one and then finds the gate closed has written before it opens.

#include "thread/gate.h"

#include <sched.h>

enum { GATE_OPEN = 1, GATE_VISITOR = 2 };

void gate_open(gate *g)
{
    atomic_fetch_or(&g->shared.word, GATE_OPEN);
}

void gate_close(gate *g)
{
    atomic_fetch_and(&g->shared.word, ~(unsigned)GATE_OPEN);
}

bool gate_enter(gate *g)
{
    unsigned word = atomic_load(&g->shared.word);
    while (word & GATE_OPEN) {
        if (atomic_compare_exchange_weak(&g->shared.word, &word, word + GATE_VISITOR)) return true;
    }
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
