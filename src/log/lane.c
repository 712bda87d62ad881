// SPDX-License-Identifier: MIT
//
// The producer adds to the last block and links a new one behind it when a line does not fit. The
// writer takes from the first, and gives it back when there is another one behind it.
// Invariant: once a block has a successor, nothing is added to it any more. So the writer first
// looks for the successor and then at how far the block is filled.
// The members that a producer publishes (filled, next) are sequentially consistent: afterwards it
// looks whether the writer sleeps, and one of the two sees what the other did.

#include "log/lane.h"

#include "base/assert.h"
#include "base/memory.h"

struct lane_block {
    _Atomic(lane_block *) next;
    atomic_size_t filled; // octets of lines
    bool counted;         // by the budget
    char lines[];
};

enum { LANE_ROOM = LANE_BLOCK_OCTETS - sizeof(lane_block) };

_Static_assert(LANE_LINE_OCTETS_MAX + sizeof(lane_block) <= LANE_BLOCK_OCTETS, "a line fits");

static void lane_block_reset(lane_block *block)
{
    atomic_store_explicit(&block->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&block->filled, 0, memory_order_relaxed);
}

// ---- Memory ----

unsigned lane_blocks(const lane *l)
{
    return atomic_load_explicit(&l->made, memory_order_relaxed) -
           atomic_load_explicit(&l->freed, memory_order_relaxed);
}

static bool lane_may_grow(const lane *l, size_t octets)
{
    return lane_blocks(l) < LANE_BLOCKS_MIN || octets <= l->memory->octets_max;
}

static lane_block *lane_block_new(lane *l)
{
    atomic_size_t *held = &l->memory->octets;
    size_t octets = atomic_fetch_add_explicit(held, LANE_BLOCK_OCTETS, memory_order_relaxed);
    bool may = lane_may_grow(l, octets + LANE_BLOCK_OCTETS);
    lane_block *block = may ? memory_alloc(LANE_BLOCK_OCTETS) : NULL;
    if (!block) {
        atomic_fetch_sub_explicit(held, LANE_BLOCK_OCTETS, memory_order_relaxed);
        return NULL;
    }
    block->counted = l->memory->of && lane_blocks(l) >= LANE_BLOCKS_MIN;
    if (block->counted) budget_add(l->memory->of, LANE_BLOCK_OCTETS);
    atomic_fetch_add_explicit(&l->made, 1, memory_order_relaxed);
    lane_block_reset(block);
    return block;
}

static void lane_block_free(lane *l, lane_block *block)
{
    if (block->counted) budget_drop(l->memory->of, LANE_BLOCK_OCTETS);
    memory_free(block);
    atomic_fetch_add_explicit(&l->freed, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&l->memory->octets, LANE_BLOCK_OCTETS, memory_order_relaxed);
}

bool lane_init(lane *l, lane_memory *memory)
{
    memset(l, 0, sizeof *l);
    l->memory = memory;
    l->first = l->last = lane_block_new(l);
    return l->first != NULL;
}

void lane_deinit(lane *l)
{
    lane_block *block = l->first, *spare = atomic_load(&l->spare);
    while (block) {
        lane_block *next = atomic_load(&block->next);
        lane_block_free(l, block);
        block = next;
    }
    if (spare) lane_block_free(l, spare);
    SKUA_ASSERT(lane_blocks(l) == 0);
}

// ---- The producer ----

static lane_block *lane_block_take(lane *l)
{
    lane_block *spare = atomic_exchange_explicit(&l->spare, NULL, memory_order_acquire);
    return spare ? spare : lane_block_new(l);
}

static lane_pushed lane_push_behind(lane *l, slice line)
{
    lane_block *block = lane_block_take(l);
    if (!block) {
        atomic_fetch_add_explicit(&l->lost, 1, memory_order_relaxed);
        return LANE_LOST;
    }
    memcpy(block->lines, line.ptr, line.len);
    atomic_store_explicit(&block->filled, line.len, memory_order_relaxed);
    atomic_store(&l->last->next, block);
    l->last = block;
    return LANE_GREW;
}

lane_pushed lane_push(lane *l, slice line)
{
    SKUA_ASSERT(line.len <= LANE_LINE_OCTETS_MAX);
    lane_block *block = l->last;
    size_t filled = atomic_load_explicit(&block->filled, memory_order_relaxed);
    if (line.len > LANE_ROOM - filled) return lane_push_behind(l, line);
    memcpy(block->lines + filled, line.ptr, line.len);
    atomic_store(&block->filled, filled + line.len);
    return LANE_ADDED;
}

// ---- The writer ----

static void lane_block_give(lane *l, lane_block *block)
{
    lane_block *none = NULL;
    lane_block_reset(block);
    if (!atomic_compare_exchange_strong_explicit(&l->spare, &none, block, memory_order_release,
                                                 memory_order_relaxed)) {
        lane_block_free(l, block);
    }
}

slice lane_peek(lane *l)
{
    for (;;) {
        lane_block *block = l->first, *next = atomic_load(&block->next);
        size_t filled = atomic_load(&block->filled);
        SKUA_ASSERT(l->taken <= filled);
        if (l->taken < filled || !next)
            return slice_make(block->lines + l->taken, filled - l->taken);
        l->first = next;
        l->taken = 0;
        lane_block_give(l, block);
    }
}

void lane_take(lane *l, size_t octets)
{
    l->taken += octets;
}

bool lane_is_empty(const lane *l)
{
    return !atomic_load(&l->first->next) && atomic_load(&l->first->filled) == l->taken;
}

uint64_t lane_lost(const lane *l)
{
    return atomic_load_explicit(&l->lost, memory_order_relaxed);
}

uint64_t lane_lost_now(lane *l)
{
    uint64_t lost = lane_lost(l);
    uint64_t news = lost - l->lost_told;
    l->lost_told = lost;
    return news;
}
