// SPDX-License-Identifier: MIT
//
// Mailbox: letters from other threads to a worker. Many writers, one reader, no lock; letters of
// one writer keep their order.
// Invariant: a letter that is under way keeps its worker from ending; its sender counts it
// (worker_has_ended). So a letter is always delivered, and the box is empty at the worker's end.
#ifndef SKUA_THREAD_MAILBOX_H
#define SKUA_THREAD_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct mail mail;

// A letter, in memory of the sender's that stays until it is delivered.
struct mail {
    mail *next;
    void (*deliver)(mail *letter, void *reader);
};

typedef struct mailbox {
    struct {
        _Atomic(mail *) newest;
        atomic_uint writers; // posting, or waking the reader afterwards
    } shared;
} mailbox;

// Around posting and the wake-up that follows: a letter may be delivered, and its reader be about
// to end, before its writer has woken it. Thread: any.
void mailbox_enter(mailbox *box);
void mailbox_leave(mailbox *box);

// Returns whether the box was empty: the reader must be woken then.  Thread: any.
bool mailbox_post(mailbox *box, mail *letter);

// Delivers everything, oldest first.  Thread: the reader's.
void mailbox_deliver(mailbox *box, void *reader);

// Waits until every writer has left. No letter may be under way.  Thread: the reader's.
void mailbox_end(mailbox *box);

#endif
