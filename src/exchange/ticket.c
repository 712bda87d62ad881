// SPDX-License-Identifier: MIT
//
// Ticket: the registry, and a slot's way: free, out, resumed, spent, and free again.
// Invariant: only the owning worker takes and closes; whoever turns the word of a slot that is out
// from 2g to 2g + 1 has resumed it, and until the letter is delivered the worker neither reuses the
// slot nor ends. So a generation is resumed once or never, and the letter always finds its reader.

#include "exchange/ticket.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/request.h"
#include "exchange/worker.h"

#include <pthread.h>

// Chunk number k has room for TICKET_FIRST << k slots. A worker takes TICKET_BATCH at a time.
enum { TICKET_FIRST = 128, TICKET_CHUNKS = 17, TICKET_BATCH = 64 };

static const uint64_t ticket_generation_max = (UINT64_C(1) << TICKET_GENERATION_BITS) - 1;

// Reachable for ever and freed never. The lock is for taking batches out and putting them back.
static struct {
    pthread_mutex_t lock;
    uint32_t used;     // slots that were ever given out
    ticket_slot *free; // come back from workers that have ended
    struct {
        _Atomic(ticket_slot *) chunks[TICKET_CHUNKS];
    } shared;
} ticket_registry = { .lock = PTHREAD_MUTEX_INITIALIZER };

// ---- The registry ----

static unsigned ticket_chunk_of(uint32_t index)
{
    return 31u - (unsigned)__builtin_clz(index / TICKET_FIRST + 1);
}

static uint32_t ticket_chunk_start(unsigned chunk)
{
    return ((UINT32_C(1) << chunk) - 1) * TICKET_FIRST;
}

ticket_slot *ticket_find(uint32_t index)
{
    unsigned chunk = ticket_chunk_of(index);
    if (chunk >= TICKET_CHUNKS) return NULL;
    ticket_slot *slots =
        atomic_load_explicit(&ticket_registry.shared.chunks[chunk], memory_order_acquire);
    return slots ? &slots[index - ticket_chunk_start(chunk)] : NULL;
}

// Called with the lock held. A slot that no ticket was ever made of.
static skua_status ticket_slot_new(ticket_slot **slot)
{
    uint32_t index = ticket_registry.used;
    unsigned chunk = ticket_chunk_of(index);
    if (chunk >= TICKET_CHUNKS) return SKUA_ELIMIT;
    if (index == ticket_chunk_start(chunk)) {
        ticket_slot *slots = memory_lasting(((size_t)TICKET_FIRST << chunk) * sizeof *slots);
        if (!slots) return SKUA_ENOMEM;
        atomic_store_explicit(&ticket_registry.shared.chunks[chunk], slots, memory_order_release);
    }
    ticket_registry.used++;
    ticket_slot *made = ticket_find(index);
    SKUA_ASSERT(made);
    made->index = index;
    atomic_store_explicit(&made->shared.word, 1 << 1 | 1, memory_order_relaxed);
    *slot = made;
    return SKUA_OK;
}

static skua_status ticket_take_batch(skua_worker *w)
{
    skua_status status = SKUA_OK;
    pthread_mutex_lock(&ticket_registry.lock);
    for (int i = 0; i < TICKET_BATCH && status == SKUA_OK; i++) {
        ticket_slot *slot = ticket_registry.free;
        if (slot) ticket_registry.free = slot->next;
        else status = ticket_slot_new(&slot);
        if (status) break;
        slot->next = w->free_tickets;
        w->free_tickets = slot;
    }
    pthread_mutex_unlock(&ticket_registry.lock);
    return w->free_tickets ? SKUA_OK : status;
}

void ticket_give_back(skua_worker *w)
{
    pthread_mutex_lock(&ticket_registry.lock);
    while (w->free_tickets) {
        ticket_slot *slot = w->free_tickets;
        w->free_tickets = slot->next;
        slot->next = ticket_registry.free;
        ticket_registry.free = slot;
    }
    pthread_mutex_unlock(&ticket_registry.lock);
}

// ---- Slots ----

static uint64_t ticket_word(const ticket_slot *slot)
{
    return atomic_load_explicit(&slot->shared.word, memory_order_relaxed);
}

// A slot whose generations are used up, after 2^40 tickets, is never used again.
static bool ticket_is_worn(uint64_t word)
{
    return word >> 1 == ticket_generation_max;
}

// From a word that was resumed to the next that no ticket is good for yet.
static void ticket_advance(ticket_slot *slot)
{
    uint64_t word = ticket_word(slot);
    SKUA_ASSERT((word & 1) && !ticket_is_worn(word));
    atomic_store_explicit(&slot->shared.word, word + 2, memory_order_release);
}

static void ticket_put(skua_worker *w, ticket_slot *slot)
{
    slot->request = NULL;
    if (ticket_is_worn(ticket_word(slot))) return;
    slot->next = w->free_tickets;
    w->free_tickets = slot;
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
    if (first && first->spent && !ticket_is_worn(ticket_word(first) + 2)) {
        ticket_advance(first);
        r->tickets = first->next; // it becomes the last
        *slot = first;
        return SKUA_OK;
    }
    skua_status status = w->free_tickets ? SKUA_OK : ticket_take_batch(w);
    if (status) return status;
    *slot = w->free_tickets;
    w->free_tickets = (*slot)->next;
    ticket_link(&r->tickets, *slot);
    return SKUA_OK;
}

skua_status skua_ticket_take(skua_request *r, skua_ticket *ticket)
{
    ticket_slot *slot;
    skua_status status = ticket_slot_take(r, &slot);
    if (status) return status;
    slot->worker = r->worker;
    slot->request = r;
    slot->spent = false;
    uint64_t word = ticket_word(slot) & ~UINT64_C(1);
    atomic_store_explicit(&slot->shared.word, word, memory_order_release);
    *ticket = (skua_ticket){ (word >> 1) << TICKET_SLOT_BITS | slot->index };
    return SKUA_OK;
}

// ---- Resuming ----

static void ticket_deliver(mail *letter, void *reader)
{
    skua_worker *w = reader;
    ticket_slot *slot = (ticket_slot *)(void *)letter;
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
        ticket_advance(slot);
        ticket_put(w, slot);
    }
    fn(r, user);
}

skua_status skua_resume(skua_ticket ticket, skua_resume_fn *fn, void *user)
{
    SKUA_ASSERT(fn);
    uint64_t generation = ticket.value >> TICKET_SLOT_BITS;
    ticket_slot *slot =
        ticket_find((uint32_t)(ticket.value & ((UINT32_C(1) << TICKET_SLOT_BITS) - 1)));
    if (!slot || generation == 0) return SKUA_ECLOSED;
    uint64_t word = generation << 1;
    if (!atomic_compare_exchange_strong_explicit(&slot->shared.word, &word, generation << 1 | 1,
                                                 memory_order_acq_rel, memory_order_relaxed)) {
        return word == (generation << 1 | 1) ? SKUA_ESTATE : SKUA_ECLOSED;
    }
    slot->fn = fn;
    slot->user = user;
    slot->letter.deliver = ticket_deliver;
    worker_post(slot->worker, &slot->letter);
    return SKUA_OK;
}

// ---- The request's end ----

static void ticket_close(skua_worker *w, ticket_slot *slot)
{
    uint64_t word = ticket_word(slot) & ~UINT64_C(1);
    if (slot->spent) {
        ticket_advance(slot);
        ticket_put(w, slot);
    } else if (atomic_compare_exchange_strong_explicit(&slot->shared.word, &word, word + 3,
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
    while (slot) {
        ticket_slot *next = slot->next;
        ticket_close(r->worker, slot);
        slot = next;
    }
}
