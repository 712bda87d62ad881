// SPDX-License-Identifier: MIT
//
// Two are enough for a worker: while one message is collected, another leaves.
// Invariant: what is kept is no longer than WS_SPARE_OCTETS_MAX, and is given back while memory is scarce.

#include "ws/spare.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/budget.h"

void *ws_spare_find(skua_worker *w, size_t octets)
{
    for (unsigned i = 0; i < WORKER_SPARES; i++) {
        void *memory = w->spares[i];
        if (!memory || counted_room(memory) < octets) continue;
        w->spares[i] = NULL;
        w->spares_rest = false;
        return memory;
    }
    return NULL;
}

// One that is too short for the messages that come now makes room for a longer one.
void ws_spare_give(skua_worker *w, void *memory)
{
    if (!memory) return;
    size_t room = counted_room(memory);
    bool fits = room >= WS_SPARE_OCTETS_MIN && room <= WS_SPARE_OCTETS_MAX;
    for (unsigned i = 0; fits && w->pressure < BUDGET_SCARCE && i < WORKER_SPARES; i++) {
        void *kept = w->spares[i];
        if (kept && counted_room(kept) >= room) continue;
        w->spares[i] = memory;
        memory = kept;
        break;
    }
    counted_free(memory);
}

void ws_spare_free_all(skua_worker *w)
{
    for (unsigned i = 0; i < WORKER_SPARES; i++) {
        counted_free(w->spares[i]);
        w->spares[i] = NULL;
    }
}

size_t ws_spare_sweep(skua_worker *w)
{
    size_t freed = 0;
    for (unsigned i = 0; w->spares_rest && i < WORKER_SPARES; i++) {
        if (w->spares[i]) freed += counted_room(w->spares[i]);
    }
    if (w->spares_rest) ws_spare_free_all(w);
    w->spares_rest = true;
    return freed;
}

#endif
