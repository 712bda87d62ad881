// SPDX-License-Identifier: MIT
//
// Ticket: a slot's way: free, out, resumed, spent, and free again.
// Invariant: only the owning worker takes and closes; whoever turns the word of a slot that is out
// from 2g to 2g + 1 has resumed it, and until the letter is delivered the worker neither reuses the
// slot nor ends. So a generation is resumed once or never, and the letter always finds its reader.

#include "exchange/ticket.h"

#include "base/assert.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/worker.h"

#include <stddef.h>

static registry ticket_registry = REGISTRY_OF(ticket_slot);

ticket_slot *ticket_find(uint32_t index)
{
    return (ticket_slot *)(void *)registry_find(&ticket_registry, index);
}

void ticket_give_back(skua_worker *w)
{
    registry_give_back(&ticket_registry, &w->free_tickets);
}

// ---- Slots ----

static void ticket_put(skua_worker *w, ticket_slot *slot)
{
    slot->request = NULL;
    registry_put(&w->free_tickets, &slot->slot);
}

// Puts a slot into the ring at its end, which is before its beginning.
static void ticket_link(ticket_slot **ring, ticket_slot *slot)
{
    ticket_slot *first = *ring;
    if (!first) {
        *ring = slot->next = slot->previous = slot;
        return;
    }
    slot->next = first;
    slot->previous = first->previous;
    first->previous->next = slot;
    first->previous = slot;
}

static void ticket_unlink(ticket_slot **ring, ticket_slot *slot)
{
    if (*ring == slot) *ring = slot->next == slot ? NULL : slot->next;
    slot->previous->next = slot->next;
    slot->next->previous = slot->previous;
}

// A spent slot of the request, or a free one.
static skua_status ticket_slot_take(skua_request *r, ticket_slot **slot)
{
    skua_worker *w = r->worker;
    ticket_slot *first = r->tickets;
    if (first && first->spent && !registry_is_worn(registry_word(&first->slot) + 2)) {
        registry_advance(&first->slot);
        r->tickets = first->next; // it becomes the last
        *slot = first;
        return SKUA_OK;
    }
    registry_slot *taken;
    skua_status status = registry_take(&ticket_registry, &w->free_tickets, &taken);
    if (status) return status;
    *slot = (ticket_slot *)(void *)taken;
    if (!r->tickets) w->ticketed++;
    ticket_link(&r->tickets, *slot);
    return SKUA_OK;
}

skua_status skua_ticket_take(skua_request *r, skua_ticket *ticket)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(ticket);
    if (r->life != LIFE_GOES_ON) return SKUA_ECLOSED;
    ticket_slot *slot;
    skua_status status = ticket_slot_take(r, &slot);
    if (status) return status;
    slot->worker = r->worker;
    slot->request = r;
    slot->spent = false;
    r->is_followed = true;
    *ticket = (skua_ticket){ registry_open(&slot->slot) };
    return SKUA_OK;
}

// ---- Resuming ----

static void ticket_deliver(mail *letter, void *reader)
{
    skua_worker *w = reader;
    ticket_slot *slot = (ticket_slot *)(void *)((char *)letter - offsetof(ticket_slot, letter));
    skua_resume_fn *fn = slot->fn;
    void *user = slot->user;
    skua_request *r = slot->request;
    if (r) { // kept until its end, so that a second resumption is told what it is
        slot->spent = true;
        ticket_unlink(&r->tickets, slot);
        ticket_link(&r->tickets, slot);
        r->tickets = slot;
    } else {
        SKUA_ASSERT(w->orphans > 0);
        w->orphans--;
        registry_advance(&slot->slot);
        ticket_put(w, slot);
    }
    w->disk.served = r && r->carrier->current == r ? r->carrier : NULL;
    fn(r, user);
    w->disk.served = NULL;
}

// Of several threads that try, the one succeeds that sets the lowest bit of the slot's word. A word
// that differs otherwise is no longer this ticket's: the request has gone.
skua_status skua_resume(skua_ticket ticket, skua_resume_fn *fn, void *user)
{
    CONTRACT_GIVEN(fn);
    uint64_t good, word;
    registry_slot *named = registry_look_up(&ticket_registry, ticket.value, &good);
    if (!named) return SKUA_ECLOSED;
    word = good;
    if (!atomic_compare_exchange_strong_explicit(&named->shared.word, &word, good | 1,
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        return word == (good | 1) ? SKUA_ESTATE : SKUA_ECLOSED;
    }
    ticket_slot *slot = (ticket_slot *)(void *)named;
    slot->fn = fn;
    slot->user = user;
    slot->letter.deliver = ticket_deliver;
    worker_post(slot->worker, &slot->letter);
    return SKUA_OK;
}

// Spent tickets come first in the ring.
bool ticket_is_out(const skua_request *r)
{
    return r->tickets && !r->tickets->previous->spent;
}

// ---- The request's end ----

static void ticket_close(skua_worker *w, ticket_slot *slot)
{
    uint64_t word = registry_word(&slot->slot) & ~UINT64_C(1);
    if (slot->spent) {
        registry_advance(&slot->slot);
        ticket_put(w, slot);
    } else if (atomic_compare_exchange_strong_explicit(&slot->slot.shared.word, &word, word + 3,
                                                       memory_order_acq_rel,
                                                       memory_order_relaxed)) {
        ticket_put(w, slot);
    } else { // its letter is under way
        slot->request = NULL;
        w->orphans++;
    }
}

void ticket_close_all(skua_request *r)
{
    ticket_slot *slot = r->tickets;
    r->tickets->previous->next = NULL;
    r->tickets = NULL;
    SKUA_ASSERT(r->worker->ticketed > 0);
    r->worker->ticketed--;
    while (slot) {
        ticket_slot *next = slot->next;
        ticket_close(r->worker, slot);
        slot = next;
    }
}
