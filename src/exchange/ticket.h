// SPDX-License-Identifier: MIT
//
// Ticket: the right to take up a request again, once, from any thread. It names a slot of a
// registry that the process keeps for ever, so that the oldest ticket can still be looked up, and
// refused.
#ifndef SKUA_EXCHANGE_TICKET_H
#define SKUA_EXCHANGE_TICKET_H

#include "thread/mailbox.h"
#include "exchange/request.h"

enum { TICKET_SLOT_BITS = 24, TICKET_GENERATION_BITS = 40 };

typedef struct ticket_slot ticket_slot;

// One ticket at a time. A request's slots are a ring, those that can be used again first.
struct ticket_slot {
    mail letter; // first; its and fn and user are whose resumption succeeded
    skua_resume_fn *fn;
    void *user;
    struct {
        // The generation, times two; and one unless a ticket of this generation is out and can be
        // resumed.
        _Atomic(uint64_t) word;
    } shared;
    ticket_slot *next, *previous; // next: also of the free ones
    skua_worker *worker;
    skua_request *request; // the worker's to look at; NULL: gone, or the slot is free
    uint32_t index;
    bool spent; // resumed and delivered
};

// The slot of that index, whatever it is used for now; NULL when there was never any.  Thread: any.
ticket_slot *ticket_find(uint32_t index);

// No ticket of the request can be resumed from here on; those that have been are told that it is
// gone.
// Only for requests that have tickets.
void ticket_close_all(skua_request *r);

// The worker's free slots go back to the registry.
void ticket_give_back(skua_worker *w);

#endif
