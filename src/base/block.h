// SPDX-License-Identifier: MIT
//
// Blocks: 16 KiB pieces of memory that input, output and arenas are made of, kept in a worker's
// store.
// Last in, first out: the block just given back is the one still in the cache.
#ifndef SKUA_BASE_BLOCK_H
#define SKUA_BASE_BLOCK_H

#include "base/budget.h"
#include "base/slice.h"

#include <stdint.h>

enum { BLOCK_OCTETS = 16384 };

typedef struct block {
    struct block *next;
    uint32_t refs; // its holders; 1 when given out
    uint32_t room; // octets in data; 0: free, and not taken since the last sweep
    _Alignas(16) char data[];
} block;

typedef struct block_store {
    block *free;
    uint32_t free_count;
    uint32_t free_max;  // more than that go back to the heap
    uint32_t out_count; // given out and not given back
    lease *memory;      // that counts all of them, free or not; NULL: nobody does
} block_store;

void block_store_init(block_store *store, uint32_t free_max);
void block_store_deinit(block_store *store); // every block must be back

// A block of BLOCK_OCTETS; NULL when memory ran out.
block *block_take(block_store *store);

// Gives one back. *b is NULL afterwards.
void block_give(block_store *store, block **b);

// Frees the blocks that have not been taken since the last sweep.
// Returns: octets that were freed.
size_t block_store_sweep(block_store *store);

#endif
