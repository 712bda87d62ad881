// SPDX-License-Identifier: MIT
//
// Mailbox: what crosses from other threads to a worker. Many writers, one reader, no lock; the order of
// one writer's mail is kept.
#ifndef SKUA_SERVER_MAILBOX_H
#define SKUA_SERVER_MAILBOX_H

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
    } shared;
} mailbox;

// Returns whether the box was empty: the reader must be woken then.  Thread: any.
bool mailbox_post(mailbox *box, mail *letter);

// Delivers everything, oldest first.  Thread: the reader's.
void mailbox_deliver(mailbox *box, void *reader);

#endif
