// SPDX-License-Identifier: MIT
//
// Figures: counters of a worker, for skua_server_stats. Only the worker writes them and any thread
// may read, so a count is a load and a store.
#ifndef SKUA_EXCHANGE_FIGURES_H
#define SKUA_EXCHANGE_FIGURES_H

#include "base/figure.h"

// Room for the classes of statuses, 9 the highest, and for states of connections.
enum { FIGURES_CLASSES = 16, FIGURES_STATES = 9 };

typedef struct figures figures;

struct figures {
    figures *next; // of the server's other workers, now or in an earlier run
    unsigned worker;
    struct {
        figure accepted; // connections, refused ones among them
        figure refused;
        figure opened, closed;         // they were not, or not at once
        figure states[FIGURES_STATES]; // connections that are in each state, by connection_state
        figure handshakes, resumed;
        figure topics_carried, topics_dropped; // publications of this server
        figure topics_received, topics_ignored, topics_gaps;
        cache_figures files, made; // caches of files, and of what was compressed here
        // The rest with skua_config.stats alone.
        figure durations[SKUA_STATS_DURATIONS][FIGURES_CLASSES];
        figure duration_ns[FIGURES_CLASSES];
        figure sent, received; // octets of content
        figure closed_by_peer, timed_out, failed;
        figure refused_head, refused_content, refused_slow, refused_busy;
    } shared;
};

// Parts of skua_worker.tells: what is told of each request when it ends.
enum {
    TELL_LOG = 1,
    TELL_FIGURES = 2,
    TELL_CLOCK = 4 // nothing; the loop goes by a clock of its own
};

// The index of the duration in skua_stats.durations.
size_t figures_place(int64_t ns);

// Counts a connection that goes from one state to another.
void figures_move(figures *f, unsigned from, unsigned to);

// Counts a response of that status that the server gives by itself.
void figures_count_refusal(figures *f, int status);

// Counts a request that has ended.
void figures_count(figures *f, const skua_request *r, skua_end how, int64_t duration_ns);

// Adds what f has counted to stats.  Thread: any.
void figures_add_to(const figures *f, skua_stats *stats);

#endif
