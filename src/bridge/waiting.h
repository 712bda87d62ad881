// SPDX-License-Identifier: MIT
//
// Waiting publications: those that the store has not taken yet, in the order of their numbers. The
// first of them may be on their way to the store.
// Invariant: octets is the sum of their sizes. Publications under way come before all others.
#ifndef SKUA_BRIDGE_WAITING_H
#define SKUA_BRIDGE_WAITING_H

#include "topic/message.h"

typedef struct bridge_waiter bridge_waiter;

struct bridge_waiter {
    bridge_waiter *next;
    topic_message *message;
    uint64_t number;
};

// Zeroed, there are none.
typedef struct bridge_waiting {
    bridge_waiter *first, *last;
    bridge_waiter *unsent; // the first that is not under way
    uint64_t numbered;     // the number that was given last
    size_t octets, sent_octets;
    unsigned sent;
} bridge_waiting;

// Adds a publication, with the next number, and keeps a reference. Those that are not under way are dropped, the
// oldest first, until all have octets_max at most; without memory it is dropped itself. Both leave a gap in the
// numbers.
// Returns: how many were dropped.
unsigned bridge_waiting_add(bridge_waiting *waiting, topic_message *message, size_t octets_max);

// The next one that is to be sent, which is under way now. There must be one.
const bridge_waiter *bridge_waiting_send(bridge_waiting *waiting);

// The first one under way has been taken.
void bridge_waiting_taken(bridge_waiting *waiting);

// Nothing is under way any more: all are to be sent again.
void bridge_waiting_again(bridge_waiting *waiting);

// The number of the last publication before those that wait.
uint64_t bridge_waiting_before(const bridge_waiting *waiting);

// Drops everything. Numbers begin anew.
void bridge_waiting_drop(bridge_waiting *waiting);

#endif
