// SPDX-License-Identifier: MIT
//
// Figure: a counter that one thread writes and any thread may read. Counting is a load and a store.
#ifndef SKUA_BASE_FIGURE_H
#define SKUA_BASE_FIGURE_H

#include "skua/skua.h"

#include <stdatomic.h>

typedef atomic_uint_fast64_t figure;

// Thread: the one that counts. n: may be a difference below zero, as an unsigned number has it.
static inline void figure_add(figure *f, uint64_t n)
{
    uint64_t sum = atomic_load_explicit(f, memory_order_relaxed) + n;
    atomic_store_explicit(f, sum, memory_order_relaxed);
}

static inline uint64_t figure_read(const figure *f)
{
    return atomic_load_explicit(f, memory_order_relaxed);
}

// Counts of the caches of one worker.
typedef struct cache_figures {
    figure hits, misses;
    figure evictions; // of what had to make room
    figure entries, octets;
} cache_figures;

// The figures of a worker's caches: of files, and of what was compressed here. They stay as long as the server. Declared
// here, since files know no more of a worker than programs do.
cache_figures *worker_cache_figures(skua_worker *worker, bool is_made);

#endif
