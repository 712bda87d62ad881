// SPDX-License-Identifier: MIT
//
// Block store: a bounded stack of free blocks in front of the heap.
// Invariant: free_count is the length of the free list and never more than free_max.

#include "base/block.h"

#include "base/assert.h"

void block_store_init(block_store *store, uint32_t free_max)
{
    *store = (block_store){ .free_max = free_max };
}

void block_store_deinit(block_store *store)
{
    SKUA_ASSERT(store->out_count == 0);
    while (store->free) {
        block *next = store->free->next;
        counted_free(store->free);
        store->free = next;
    }
    store->free_count = 0;
}

static block *block_pop(block_store *store)
{
    block *b = store->free;
    store->free = b->next;
    store->free_count--;
    return b;
}

block *block_take(block_store *store)
{
    block *b =
        store->free ? block_pop(store) : counted_alloc(store->memory, sizeof *b + BLOCK_OCTETS);
    if (!b) return NULL;
    b->next = NULL;
    b->refs = 1;
    b->room = BLOCK_OCTETS;
    store->out_count++;
    return b;
}

void block_give(block_store *store, block **b)
{
    SKUA_ASSERT(*b);
    SKUA_ASSERT(store->out_count > 0);
    block *given = *b;
    *b = NULL;
    store->out_count--;
    if (store->free_count >= store->free_max) {
        counted_free(given);
        return;
    }
    given->next = store->free;
    store->free = given;
    store->free_count++;
}

// A free block whose room is 0 was not taken since the last sweep, which set it to 0.
size_t block_store_sweep(block_store *store)
{
    size_t freed = 0;
    block **link = &store->free;
    while (*link) {
        block *b = *link;
        if (b->room) {
            b->room = 0;
            link = &b->next;
            continue;
        }
        *link = b->next;
        counted_free(b);
        store->free_count--;
        freed += sizeof *b + BLOCK_OCTETS;
    }
    return freed;
}
