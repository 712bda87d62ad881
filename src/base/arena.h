// SPDX-License-Identifier: MIT
//
// Arena: memory that is given out piece by piece and taken back at once. Blocks come from a
// worker's block store, pieces too large for a block, and those that are to be apart, from the heap.
// Invariant: a reset arena holds no memory.
#ifndef SKUA_BASE_ARENA_H
#define SKUA_BASE_ARENA_H

#include "base/block.h"

typedef struct arena_piece arena_piece;

typedef struct arena {
    block_store *store;
    block *blocks;       // newest first
    arena_piece *pieces; // those from the heap
    char *at, *end;      // what is left of the newest block, or of what was lent
} arena;

void arena_init(arena *a, block_store *store);

// Lends a fresh arena octets to give out before it takes a block, until it is reset. room: aligned
// for anything.
static inline void arena_lend(arena *a, char *room, size_t octets)
{
    a->at = room;
    a->end = room + octets;
}

// octets of memory aligned for anything; NULL only when memory ran out.
__attribute__((noinline)) void *arena_alloc_slow(arena *a, size_t octets);

// Whether so many octets, at least one, can be given out without more memory being taken.
static inline bool arena_has_room(const arena *a, size_t octets)
{
    size_t rounded = (octets + 15) & ~(size_t)15;
    // rounded is 0 for no octets, and for so many that the sum wrapped: both are for the slow half.
    return rounded - 1 < (size_t)(a->end - a->at);
}

static inline void *arena_alloc(arena *a, size_t octets)
{
    if (!arena_has_room(a, octets)) return arena_alloc_slow(a, octets);
    void *memory = a->at;
    a->at += (octets + 15) & ~(size_t)15;
    return memory;
}

// octets from the heap, whatever there is room for; NULL only when memory ran out.
void *arena_alloc_apart(arena *a, size_t octets);

// Lets an arena that has taken no block give out so many octets more before it does.
// Returns: false when memory ran out.
bool arena_make_room(arena *a, size_t octets);

// A copy of text that ends in NUL; {NULL, 0} when memory ran out.
slice arena_copy(arena *a, slice text);

// The slow half of arena_reset: there is something to give back.
__attribute__((noinline)) void arena_reset_slow(arena *a);

// Gives everything back.
static inline void arena_reset(arena *a)
{
    if (a->blocks || a->pieces) arena_reset_slow(a);
    a->at = a->end = NULL;
}

#endif
