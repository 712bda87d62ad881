// SPDX-License-Identifier: MIT
//
// Ticket: the right to resume a request, once, from any thread. It names a slot of a registry that
// the process never frees, so that the oldest ticket can still be looked up, and refused.
#ifndef SKUA_EXCHANGE_TICKET_H
#define SKUA_EXCHANGE_TICKET_H

#include "base/registry.h"
#include "exchange/request.h"
#include "thread/mailbox.h"

typedef struct ticket_slot ticket_slot;

// One ticket at a time. A request's slots are a ring, those that can be used again first.
struct ticket_slot {
    registry_slot slot; // first; its handle is good while the ticket is out and can be resumed
    mail letter;        // the letter, fn and user belong to the resumption that succeeded
    skua_resume_fn *fn;
    void *user;
    ticket_slot *next, *previous;
    skua_worker *worker;
    skua_request *request; // the worker's to look at; NULL: gone, or the slot is free
    bool spent;            // resumed and delivered
};

// The slot of that index, whatever it is used for now; NULL when there was never any.  Thread: any.
ticket_slot *ticket_find(uint32_t index);

// Whether a ticket of the request's has not come back yet.
bool ticket_is_out(const skua_request *r);

// No ticket of the request can be resumed from here on; those that have been are told that it is
// gone.
// Only for requests that have tickets.
void ticket_close_all(skua_request *r);

// The worker's free slots go back to the registry.
void ticket_give_back(skua_worker *w);

#endif
