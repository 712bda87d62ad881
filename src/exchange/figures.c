// SPDX-License-Identifier: MIT
//
// Figures. Durations are counted between bounds that are seven to a power of ten.

#include "exchange/figures.h"

#include "base/contract.h"
#include "base/inline.h"
#include "base/sized.h"
#include "exchange/request.h"
#include "exchange/worker.h"

// unit: a power of ten, of int64_t.
#define FIGURES_DECADE(unit)                                                                       \
    (unit), 3 * (unit) / 2, 2 * (unit), 5 * (unit) / 2, 7 * (unit) / 2, 5 * (unit), 15 * (unit) / 2

// The longest duration that each place is for.
static const int64_t figures_bounds[SKUA_STATS_DURATIONS] = {
    FIGURES_DECADE(INT64_C(1000)),
    FIGURES_DECADE(INT64_C(10000)),
    FIGURES_DECADE(INT64_C(100000)),
    FIGURES_DECADE(INT64_C(1000000)),
    FIGURES_DECADE(INT64_C(10000000)),
    FIGURES_DECADE(INT64_C(100000000)),
    FIGURES_DECADE(INT64_C(1000000000)),
    INT64_C(10000000000),
    INT64_MAX,
};

// By the number of a duration's highest binary digit: the place of the shortest such duration. The duration's own place is
// at most three further.
static const uint8_t figures_first[64] = {
    0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  1,  3,  5,  7,  9,  11, 13, 15, 18, 20, 22, 24,
    26, 28, 30, 32, 34, 36, 39, 41, 43, 45, 47, 49, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50,
    50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50,
};

// A clock that was set back between two looks leaves something below 0, which goes to the last place.
size_t figures_place(int64_t ns)
{
    size_t i = figures_first[63 ^ __builtin_clzll((uint64_t)ns | 1)];
    while (ns > figures_bounds[i])
        i++;
    return i;
}

// A hundredth of the status, without a division.
static inline size_t figures_class(unsigned status)
{
    return status * 41 >> 12;
}

__attribute__((noinline)) void figures_move(figures *f, unsigned from, unsigned to)
{
    figure_add(&f->shared.states[from], UINT64_MAX); // one less
    figure_add(&f->shared.states[to], 1);
}

// Responses that the server has given by itself, because something is beyond a limit.
__attribute__((cold)) void figures_count_refusal(figures *f, int status)
{
    switch (status) {
    case 408: figure_add(&f->shared.refused_slow, 1); return;
    case 413: figure_add(&f->shared.refused_content, 1); return;
    case 414:
    case 431: figure_add(&f->shared.refused_head, 1); return;
    case 503: figure_add(&f->shared.refused_busy, 1); return;
    default: return;
    }
}

__attribute__((cold)) static void figures_count_cut(figures *f, skua_end how)
{
    switch (how) {
    case SKUA_END_CLOSED: figure_add(&f->shared.closed_by_peer, 1); return;
    case SKUA_END_TIMEOUT: figure_add(&f->shared.timed_out, 1); return;
    case SKUA_END_ERROR: figure_add(&f->shared.failed, 1); return;
    case SKUA_END_SENT: return;
    }
}

BASE_INLINE_ALWAYS void figures_count(figures *f, const skua_request *r, skua_end how, int64_t ns)
{
    size_t class = figures_class(r->status);
    figure_add(&f->shared.durations[figures_place(ns)][class], 1);
    figure_add(&f->shared.duration_ns[class], (uint64_t)ns);
    figure_add(&f->shared.sent, r->sent_octets);
    if (how != SKUA_END_SENT) figures_count_cut(f, how);
}

static void figures_add_connections(const figures *f, skua_stats *s)
{
    uint64_t closed = figure_read(&f->shared.closed), opened = figure_read(&f->shared.opened);
    s->connections_accepted += figure_read(&f->shared.accepted);
    s->connections_refused += figure_read(&f->shared.refused);
    s->connections_open += opened - closed;
    s->handshakes += figure_read(&f->shared.handshakes);
    s->handshakes_resumed += figure_read(&f->shared.resumed);
}

static void figures_add_topics(const figures *f, skua_stats *s)
{
    s->topics_carried += figure_read(&f->shared.topics_carried);
    s->topics_dropped += figure_read(&f->shared.topics_dropped);
    s->topics_received += figure_read(&f->shared.topics_received);
    s->topics_ignored += figure_read(&f->shared.topics_ignored);
    s->topics_gaps += figure_read(&f->shared.topics_gaps);
}

static void figures_add_caches(const figures *f, skua_stats *s)
{
    s->cache_hits += figure_read(&f->shared.files.hits);
    s->cache_misses += figure_read(&f->shared.files.misses);
    s->cache_evictions += figure_read(&f->shared.files.evictions);
    s->cache_entries += figure_read(&f->shared.files.entries);
    s->cache_octets += figure_read(&f->shared.files.octets);
    s->compressed_hits += figure_read(&f->shared.made.hits);
    s->compressed_misses += figure_read(&f->shared.made.misses);
    s->compressed_evictions += figure_read(&f->shared.made.evictions);
    s->compressed_entries += figure_read(&f->shared.made.entries);
    s->compressed_octets += figure_read(&f->shared.made.octets);
}

static void figures_add_requests(const figures *f, skua_stats *s)
{
    for (unsigned class = 0; class < SKUA_STATS_CLASSES; class ++) {
        for (unsigned i = 0; i < SKUA_STATS_DURATIONS; i++) {
            uint64_t n = figure_read(&f->shared.durations[i][class]);
            s->durations[class][i] += n;
            s->responses[class] += n;
        }
        s->duration_ns[class] += figure_read(&f->shared.duration_ns[class]);
    }
    s->content_sent += figure_read(&f->shared.sent);
    s->content_received += figure_read(&f->shared.received);
    s->requests_closed += figure_read(&f->shared.closed_by_peer);
    s->requests_timed_out += figure_read(&f->shared.timed_out);
    s->requests_failed += figure_read(&f->shared.failed);
    s->refused_head += figure_read(&f->shared.refused_head);
    s->refused_content += figure_read(&f->shared.refused_content);
    s->refused_slow += figure_read(&f->shared.refused_slow);
    s->refused_busy += figure_read(&f->shared.refused_busy);
}

void figures_add_to(const figures *f, skua_stats *s)
{
    figures_add_requests(f, s);
    figures_add_connections(f, s);
    figures_add_topics(f, s);
    figures_add_caches(f, s);
}

cache_figures *worker_cache_figures(skua_worker *w, bool is_made)
{
    return is_made ? &w->figures->shared.made : &w->figures->shared.files;
}

// ---- Public ----

int64_t skua_stats_bound_ns(unsigned index)
{
    return figures_bounds[index < SKUA_STATS_DURATIONS ? index : SKUA_STATS_DURATIONS - 1];
}

static uint64_t stats_of_all(const skua_stats *stats, unsigned place)
{
    uint64_t sum = 0;
    for (unsigned class = 0; class < SKUA_STATS_CLASSES; class ++)
        sum += stats->durations[class][place];
    return sum;
}

// Within a place durations are taken to be spread evenly.
static int64_t stats_between(unsigned place, double share)
{
    int64_t above = place ? figures_bounds[place - 1] : 0;
    if (place == SKUA_STATS_DURATIONS - 1) return above;
    return above + (int64_t)(share * (double)(figures_bounds[place] - above));
}

int64_t skua_stats_quantile_ns_sized(const skua_stats *stats, double quantile,
                                     const skua_sizes *sizes)
{
    CONTRACT_GIVEN(stats);
    CONTRACT_SIZES(sizes);
    skua_stats own;
    stats = SIZED_GIVEN(stats, sizes->stats, &own);
    uint64_t all = 0, below = 0;
    for (unsigned i = 0; i < SKUA_STATS_DURATIONS; i++)
        all += stats_of_all(stats, i);
    if (all == 0) return 0;
    double wanted = (quantile < 0 ? 0 : quantile > 1 ? 1 : quantile) * (double)all;
    for (unsigned i = 0; i < SKUA_STATS_DURATIONS; i++) {
        uint64_t here = stats_of_all(stats, i);
        if (here && (double)(below + here) >= wanted)
            return stats_between(i, (wanted - (double)below) / (double)here);
        below += here;
    }
    return figures_bounds[SKUA_STATS_DURATIONS - 2];
}
