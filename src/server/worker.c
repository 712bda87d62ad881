// SPDX-License-Identifier: MIT
//
// Worker: what others ask of it.

#include "server/worker.h"

#include "base/contract.h"
#include "server/server.h"

bool worker_has_room(const server_worker *w)
{
    return !w->failed && !worker_is_short(&w->self, BUDGET_FULL) &&
           w->serving < worker_config(&w->self)->connections_max;
}

static void worker_hear(mail *letter, void *reader)
{
    server_worker *w = reader;
    worker_call *call = (worker_call *)(void *)letter;
    // Before it is acted on: what is found meanwhile by others is worth another call.
    atomic_store_explicit(&call->shared.under_way, false, memory_order_release);
    call->heard(w);
    gate_leave(&w->posting);
}

void worker_tell(server_worker *to, worker_call *call, void (*heard)(server_worker *w))
{
    if (atomic_exchange_explicit(&call->shared.under_way, true, memory_order_acquire)) return;
    if (!gate_enter(&to->posting)) return; // it is ending, and closes everything
    call->letter.deliver = worker_hear;
    call->heard = heard;
    worker_post(&to->self, &call->letter);
}

// ---- Public ----

unsigned skua_worker_index(const skua_worker *w)
{
    CONTRACT(w, "worker must not be NULL");
    return w->index;
}

skua_server *skua_worker_server(const skua_worker *w)
{
    CONTRACT(w, "worker must not be NULL");
    return w->server;
}

int64_t skua_worker_now_ns(const skua_worker *w)
{
    home_expect(w, __func__);
    return w->loop.now_ns;
}

void skua_memory_count(skua_worker *w, int64_t octets)
{
    home_expect(w, __func__);
    if (octets >= 0) {
        lease_add(&w->memory, (size_t)octets);
        return;
    }
    CONTRACT((uint64_t)0 - (uint64_t)octets <= w->memory.used,
             "more was taken back than was counted");
    lease_drop(&w->memory, (size_t)0 - (size_t)octets);
}

int64_t skua_worker_unix_ns(const skua_worker *w)
{
    home_expect(w, __func__);
    return w->loop.unix_ns;
}
