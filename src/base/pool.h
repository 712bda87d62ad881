// SPDX-License-Identifier: MIT
//
// Pool: objects of one size in slabs, found by slot and generation, so that a late event for an
// object that is gone finds nothing. A slab in which nothing is in use goes back to the heap when
// the pool is swept. Every pooled object begins with a pool_item.
#ifndef SKUA_BASE_POOL_H
#define SKUA_BASE_POOL_H

#include "base/budget.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pool_item {
    uint32_t slot;
    uint32_t generation; // odd while in use
} pool_item;

enum { POOL_SLAB_ITEMS = 256 };

typedef struct pool {
    char **slabs;
    uint32_t slab_count;
    uint32_t slab_room;
    uint32_t item_octets;
    uint32_t in_use;
    uint32_t most; // that were in use at a time since the last sweep
    uint32_t items_max;
    // head of the list of free items, through the word after pool_item; UINT32_MAX: none
    uint32_t free_slot;
    // Stands in for the slabs that have gone back: its items are zero and never in use. NULL: none
    // has.
    char *vacancy;
    uint32_t vacant_count;
    uint32_t born; // the generation that items of a new slab begin with: no late event knows it
    lease *memory; // that counts the slabs; NULL: nobody does
} pool;

// item_octets: a multiple of 16, at least 16.
void pool_init(pool *p, size_t item_octets, uint32_t items_max);
void pool_deinit(pool *p); // nothing may be in use

// An object whose memory after the pool_item is zero; NULL when memory or items_max ran out.
void *pool_take(pool *p);
void pool_give(pool *p, void *object);

// Gives slabs in which nothing is in use back to the heap, but for as many as held what was in use
// at a time since the last sweep. The lowest slots are handed out first afterwards.
// Returns: octets that were freed.
size_t pool_sweep(pool *p);

// Octets that the slabs take.
size_t pool_octets(const pool *p);

static inline void *pool_at(const pool *p, uint32_t slot)
{
    return p->slabs[slot / POOL_SLAB_ITEMS] + (size_t)(slot % POOL_SLAB_ITEMS) * p->item_octets;
}

// The object in slot if it is still of that generation; NULL otherwise.
static inline void *pool_find(const pool *p, uint32_t slot, uint32_t generation)
{
    if (slot >= p->slab_count * POOL_SLAB_ITEMS) return NULL;
    pool_item *item = pool_at(p, slot);
    return item->generation == generation ? item : NULL;
}

#endif
