// SPDX-License-Identifier: MIT
//
// Waiting publications. The oldest are dropped when there are too many: of live data the newest counts, and
// other machines see by the numbers that some are missing.

#include "bridge/waiting.h"

#include "base/assert.h"
#include "base/memory.h"

static void bridge_waiter_free(bridge_waiting *waiting, bridge_waiter *waiter)
{
    waiting->octets -= waiter->message->size;
    topic_message_release(waiter->message);
    memory_free(waiter);
}

// The oldest that is not under way. Its predecessor is looked for, which is one of few.
static void bridge_waiting_drop_one(bridge_waiting *waiting)
{
    bridge_waiter *gone = waiting->unsent, *before = waiting->first;
    if (before == gone) {
        before = NULL;
        waiting->first = gone->next;
    } else {
        while (before->next != gone)
            before = before->next;
        before->next = gone->next;
    }
    if (waiting->last == gone) waiting->last = before;
    waiting->unsent = gone->next;
    bridge_waiter_free(waiting, gone);
}

unsigned bridge_waiting_add(bridge_waiting *waiting, topic_message *message, size_t octets_max)
{
    unsigned dropped = 0;
    bridge_waiter *waiter = memory_alloc(sizeof *waiter);
    waiting->numbered++;
    if (!waiter) return 1;
    topic_message_keep(message);
    *waiter = (bridge_waiter){ .message = message, .number = waiting->numbered };
    if (waiting->last) waiting->last->next = waiter;
    else waiting->first = waiter;
    waiting->last = waiter;
    if (!waiting->unsent) waiting->unsent = waiter;
    waiting->octets += message->size;
    for (; waiting->octets > octets_max && waiting->unsent; dropped++)
        bridge_waiting_drop_one(waiting);
    return dropped;
}

const bridge_waiter *bridge_waiting_send(bridge_waiting *waiting)
{
    bridge_waiter *next = waiting->unsent;
    SKUA_ASSERT(next);
    waiting->unsent = next->next;
    waiting->sent++;
    waiting->sent_octets += next->message->size;
    return next;
}

void bridge_waiting_taken(bridge_waiting *waiting)
{
    bridge_waiter *taken = waiting->first;
    SKUA_ASSERT(waiting->sent > 0);
    SKUA_ASSERT(taken && taken != waiting->unsent);
    waiting->first = taken->next;
    if (!waiting->first) waiting->last = NULL;
    waiting->sent--;
    waiting->sent_octets -= taken->message->size;
    bridge_waiter_free(waiting, taken);
}

void bridge_waiting_again(bridge_waiting *waiting)
{
    waiting->unsent = waiting->first;
    waiting->sent = 0;
    waiting->sent_octets = 0;
}

uint64_t bridge_waiting_before(const bridge_waiting *waiting)
{
    return waiting->first ? waiting->first->number - 1 : waiting->numbered;
}

void bridge_waiting_drop(bridge_waiting *waiting)
{
    while (waiting->first) {
        bridge_waiter *gone = waiting->first;
        waiting->first = gone->next;
        bridge_waiter_free(waiting, gone);
    }
    *waiting = (bridge_waiting){ .first = NULL };
}
