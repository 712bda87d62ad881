// SPDX-License-Identifier: MIT
//
// Sweep. Free lists are marked by one sweep, and what still has its mark at the next was not needed
// for a whole minute. Nothing is counted while requests are served. A worker without connections
// has given everything back after two sweeps, and sleeps.

#include "server/sweep.h"

#include "base/memory.h"
#include "h1/session.h"
#include "h2/worker.h"
#include "server/handoff.h"
#include "server/locals.h"
#include "server/secure.h"
#include "ws/parked.h"
#include "ws/spare.h"

static const int64_t sweep_period_ns = (int64_t)60 * 1000000000;

// The system is asked to take freed memory back when there is so much of it: that costs about a
// millisecond.
enum { SWEEP_TRIM_OCTETS = 1 << 20 };

void sweep_start(server_worker *w)
{
    io_deadline_set(&w->self.loop.timers, &w->sweeping, sweep_period_ns);
}

static bool sweep_has_more(const server_worker *w)
{
    const skua_worker *self = &w->self;
    return w->connections.in_use || w->connections.slab_count || self->free_sessions ||
           self->h2.free_works || self->h2.free_streams || self->h2.text || self->free_requests ||
           self->blocks.free || w->free_handed || self->spares[0] || self->spares[1] ||
           self->parked.slab_count;
}

static size_t sweep_once(server_worker *w)
{
    size_t freed = pool_sweep(&w->connections);
    freed += h1_session_sweep(&w->self);
#ifndef SKUA_NO_HTTP2
    freed += h2_worker_sweep(&w->self);
#endif
#ifndef SKUA_NO_WEBSOCKET
    freed += ws_spare_sweep(&w->self);
    freed += ws_parked_sweep(&w->self);
#endif
    freed += worker_sweep_requests(&w->self);
    freed += block_store_sweep(&w->self.blocks);
    freed += secure_sweep(w);
    return freed + handoff_sweep(w);
}

void sweep_now(server_worker *w)
{
    size_t freed = sweep_once(w);
    if (freed >= SWEEP_TRIM_OCTETS) memory_trim();
    if (sweep_has_more(w)) sweep_start(w);
}

void sweep_everything(server_worker *w)
{
    locals_shrink(w);
    (void)sweep_once(w); // marks
    (void)sweep_once(w);
}
