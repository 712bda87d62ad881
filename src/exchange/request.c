// SPDX-License-Identifier: MIT
//
// Request: its memory, and what others ask of it.

#include "exchange/request.h"

#include "base/contract.h"
#include "base/inline.h"
#include "exchange/recorder.h"
#include "exchange/worker.h"

// A usual head and what is made of it fit in here: only larger requests take a block.
enum { REQUEST_ROOM_OCTETS = 1024 };

size_t request_octets_at(const head_limits *bounds)
{
    size_t fields = (bounds->fields_max * sizeof(head_field) + 15) & ~(size_t)15;
    return ((sizeof(skua_request) + 15) & ~(size_t)15) + fields + REQUEST_ROOM_OCTETS;
}

// A few cache lines: stores clear them sooner than the instruction for long strings, which
// compilers choose for the whole.
static inline void request_clear(skua_request *r)
{
    enum { LINE_OCTETS = 64 };
    const size_t end = offsetof(skua_request, base);
    for (size_t at = offsetof(skua_request, life); at < end; at += LINE_OCTETS) {
        memset((char *)r + at, 0, LINE_OCTETS); // past the end, what is not set yet
    }
}

// The arena begins with room at the end of the request itself, so that small requests take no
// block.
BASE_INLINE skua_request *request_take(skua_worker *w, carrier *c)
{
    skua_request *r = w->free_requests;
    if (r) w->free_requests = r->next;
    else r = counted_alloc_lined(&w->memory, w->request_octets, REQUEST_HOT);
    if (!r) return NULL;
    request_clear(r);
    r->match.route = NULL;
    r->home = w->disk.thread;
    r->worker = w;
    r->carrier = c;
    r->decoding = (request_decoding){ .memory = &r->memory };
    arena_init(&r->memory, &w->blocks);
    arena_lend(&r->memory, (char *)r + w->request_octets - REQUEST_ROOM_OCTETS,
               REQUEST_ROOM_OCTETS);
    head_init(&r->head, &w->head_bounds, r->head_fields);
    return r;
}

void request_blame(skua_request *r, const char *reason)
{
    if (r->blamed) return;
    r->blamed = true;
    r->reason = reason;
}

slice request_known_field(const skua_request *r, field_id id)
{
    if (!(r->head.seen & 1u << id)) return (slice){ 0 };
    for (size_t i = 0; i < r->head.count; i++) {
        if (r->head_fields[i].id == id) return head_value(&r->head, r->base, i);
    }
    return (slice){ 0 };
}

// The worker may decode for a middleware at the same time, and then uses the request's own.
request_decoding *request_decoding_here(const skua_request *r)
{
    recorder *taken = recorder_here(r);
    if (taken) return &taken->decoding;
    // decoding is no change of a request, so those who only read it may ask
    skua_request *own =
        (skua_request *)(void *)((char *)r->decoding.memory - offsetof(skua_request, memory));
    return &own->decoding;
}

// ---- The contract ----

void request_misused(const skua_request *r, const char *function)
{
    if (!r)
        contract_broken(function, "request must not be NULL; a function that skua_resume calls is "
                                  "given NULL when its request is gone");
    if (recorder_is_visiting())
        contract_broken(function, "called in a blocking handler; it is for the worker's thread, or "
                                  "for another request");
    if (!r->home)
        contract_broken(function, "the request is gone; keep it by skua_request_hold, or find it "
                                  "again by skua_ticket_take and skua_resume");
    contract_broken(function,
                    "called on another thread than the request's worker; use skua_resume");
}

void request_expect_blocking(const skua_request *r, const char *function)
{
    if (!recorder_here(r)) request_misused(r, function);
}
