// SPDX-License-Identifier: MIT
//
// Statistics. Figures outlive their workers, so that nobody who reads them has to wait for anyone.

#include "server/stats.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "server/connection.h"

_Static_assert((int)CONNECTION_CLOSED < (int)FIGURES_STATES, "figures.states");

figures *stats_of_worker(skua_server *server, unsigned index)
{
    figures *first = atomic_load(&server->shared.worker_figures);
    for (figures *f = first; f; f = f->next) {
        if (f->worker == index) return f;
    }
    figures *made = memory_zeroed(sizeof *made);
    if (!made) return NULL;
    made->worker = index;
    made->next = first;
    atomic_store(&server->shared.worker_figures, made);
    return made;
}

void stats_free(skua_server *server)
{
    figures *f = atomic_load(&server->shared.worker_figures);
    while (f) {
        figures *next = f->next;
        memory_free(f);
        f = next;
    }
}

static uint64_t stats_in(const figures *f, connection_state state)
{
    return figure_read(&f->shared.states[state]);
}

static void stats_add_states(const figures *f, skua_stats *s)
{
    s->connections_shaking += stats_in(f, CONNECTION_HANDSHAKE);
    s->connections_idle += stats_in(f, CONNECTION_IDLE);
    s->connections_receiving += stats_in(f, CONNECTION_HEAD) + stats_in(f, CONNECTION_CONTENT);
    s->connections_handling += stats_in(f, CONNECTION_HANDLER);
    s->connections_sending += stats_in(f, CONNECTION_SENDING);
    s->connections_streaming += stats_in(f, CONNECTION_STREAM);
    s->connections_closing += stats_in(f, CONNECTION_LINGER) + stats_in(f, CONNECTION_CLOSED);
}

static void stats_read(skua_server *server, skua_stats *stats)
{
    *stats = (skua_stats){ .counts_requests = server->config.stats };
    for (const figures *f = atomic_load(&server->shared.worker_figures); f; f = f->next) {
        figures_add_to(f, stats);
        stats_add_states(f, stats);
        stats->connections_max += server->config.connections_max;
    }
    stats->memory_octets = budget_octets(&server->memory);
    stats->memory_max = server->memory.octets_max;
    stats->log_lines_lost = figure_read(&server->shared.lines_lost);
    if (!gate_enter(&server->logging)) return;
    stats->log_lines_lost += log_lost(server->log);
    gate_leave(&server->logging);
}

void skua_server_stats_sized(skua_server *server, skua_stats *stats, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(stats);
    CONTRACT_SIZES(sizes);
    skua_stats own;
    stats_read(server, &own);
    sized_give(stats, sizes->stats, &own, sizeof own);
}
