// SPDX-License-Identifier: MIT
//
// Worker: the line of Date, which all responses of a second share.

#include "exchange/worker.h"

#include "exchange/request.h"
#include "http/date.h"

// Requests that have gone are free at once.
static void worker_free_gone(skua_worker *w)
{
#if CONTRACT_IS_SEARCHED
    for (unsigned i = 0; i < WORKER_GONE_KEPT; i++) {
        skua_request *r = w->gone_requests[i];
        w->gone_requests[i] = NULL;
        if (!r) continue;
        r->next = w->free_requests;
        w->free_requests = r;
    }
#else
    (void)w;
#endif
}

static const int64_t worker_rest_ns = 1000000000;

void worker_look_for_rest(skua_worker *w)
{
    if (!w->parking.due) io_deadline_set(&w->loop.timers, &w->parking, worker_rest_ns);
}

// A block is marked by one look and freed by the next.
void worker_free_rest(skua_worker *w)
{
    w->parking_frees = 2;
    worker_look_for_rest(w);
}

void worker_free_requests(skua_worker *w)
{
    worker_free_gone(w);
    while (w->free_requests) {
        skua_request *r = w->free_requests;
        w->free_requests = r->next;
        counted_free_lined(r);
    }
}

// A free request has no carrier once a sweep has seen it; taking it gives it one.
size_t worker_sweep_requests(skua_worker *w)
{
    size_t freed = 0;
    worker_free_gone(w);
    skua_request **link = &w->free_requests;
    while (*link) {
        skua_request *r = *link;
        if (r->carrier) {
            r->carrier = NULL;
            link = &r->next;
        } else {
            *link = r->next;
            counted_free_lined(r);
            freed += w->request_octets;
        }
    }
    return freed;
}

__attribute__((cold, noinline)) bool worker_is_short_still(const skua_worker *w, budget_level level)
{
    return budget_level_of(w->memory.of) >= level;
}

void worker_date_renew(skua_worker *w)
{
    int64_t seconds = w->loop.unix_ns / 1000000000;
    memcpy(w->date_line, "Date: ", 6);
    date_write(w->date_line + 6, seconds);
    memcpy(w->date_line + 6 + DATE_OCTETS, "\r\n", 2);
    w->date_from_ns = seconds * 1000000000;
}
