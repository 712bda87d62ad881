// SPDX-License-Identifier: MIT
//
// The part of a worker in TLS.

#include "net/tls_worker.h"

#ifdef SKUA_TLS

#include <openssl/crypto.h>

bool tls_worker_init(tls_worker *w, io_loop *loop, lease *memory, block_store *blocks)
{
    if (!tls_contexts_init(&w->contexts, memory)) return false;
    w->loop = loop;
    w->memory = memory;
    w->blocks = blocks;
    w->free_flights = NULL;
    w->recent_facts = NULL;
    w->turn_ns = 0;
    w->steps = 0;
    return true;
}

static void tls_worker_forget_facts(tls_worker *w)
{
    tls_facts_unref(w->recent_facts);
    w->recent_facts = NULL;
}

void tls_worker_free_flights(tls_worker *w)
{
    while (w->free_flights) {
        tls_flight *flight = w->free_flights;
        w->free_flights = flight->next;
        counted_free(flight);
    }
}

void tls_worker_deinit(tls_worker *w)
{
    tls_worker_forget_facts(w);
    tls_worker_free_flights(w);
    tls_contexts_deinit(&w->contexts);
    OPENSSL_cleanse(w->plain, sizeof w->plain);
    OPENSSL_cleanse(w->staged, sizeof w->staged);
}

bool tls_worker_steps(tls_worker *w)
{
    if (w->turn_ns != w->loop->now_ns) {
        w->turn_ns = w->loop->now_ns;
        w->steps = 0;
    }
    return w->steps++ < TLS_STEPS_PER_TURN_MAX;
}

tls_flight *tls_worker_take_flight(tls_worker *w)
{
    tls_flight *flight = w->free_flights;
    if (flight) w->free_flights = flight->next;
    else flight = counted_alloc(w->memory, sizeof *flight);
    if (!flight) return NULL;
    flight->is_used = true;
    flight->fresh = 0;
    flight->loaded_file = -1;
    return flight;
}

void tls_worker_give_flight(tls_worker *w, tls_flight *flight)
{
    flight->next = w->free_flights;
    w->free_flights = flight;
}

size_t tls_worker_sweep(tls_worker *w)
{
    size_t freed = tls_contexts_sweep(&w->contexts);
    tls_worker_forget_facts(w); // they hold certificates that a reload may have replaced
    tls_flight **link = &w->free_flights;
    while (*link) {
        tls_flight *flight = *link;
        if (flight->is_used) {
            flight->is_used = false;
            link = &flight->next;
        } else {
            *link = flight->next;
            counted_free(flight);
            freed += sizeof *flight;
        }
    }
    return freed;
}

#endif
