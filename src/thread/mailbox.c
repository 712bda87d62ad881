// SPDX-License-Identifier: MIT
//
// Mailbox: a stack that is taken whole and turned round.

#include "thread/mailbox.h"

#include "base/assert.h"

#include <sched.h>
#include <stddef.h>

void mailbox_enter(mailbox *box)
{
    // the letter carries the order
    atomic_fetch_add_explicit(&box->shared.writers, 1, memory_order_relaxed);
}

void mailbox_leave(mailbox *box)
{
    atomic_fetch_sub_explicit(&box->shared.writers, 1, memory_order_release);
}

// Posting is in one order with other sequentially consistent operations of the thread (topic/delivery.c relies on it).
bool mailbox_post(mailbox *box, mail *letter)
{
    mail *newest = atomic_load_explicit(&box->shared.newest, memory_order_relaxed);
    do {
        letter->next = newest;
    } while (!atomic_compare_exchange_weak_explicit(&box->shared.newest, &newest, letter,
                                                    memory_order_seq_cst, memory_order_relaxed));
    return newest == NULL;
}

void mailbox_deliver(mailbox *box, void *reader)
{
    mail *newest = atomic_exchange_explicit(&box->shared.newest, NULL, memory_order_acquire);
    mail *oldest = NULL;
    while (newest) {
        mail *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest) {
        mail *next = oldest->next;
        oldest->deliver(oldest, reader);
        oldest = next;
    }
}

void mailbox_end(mailbox *box)
{
    SKUA_ASSERT(!atomic_load_explicit(&box->shared.newest, memory_order_relaxed));
    while (atomic_load_explicit(&box->shared.writers, memory_order_acquire))
        sched_yield();
}
