// SPDX-License-Identifier: MIT
//
// Pool: slots are handed out last in, first out. A free item holds the distance to the next free
// slot, less one, so that a slab fresh from calloc is already a list in order, and no page of it is
// touched before it is needed.
// Invariant: an item's generation is odd exactly while it is in use; it never goes back.

#include "base/pool.h"

#include "base/assert.h"
#include "base/memory.h"

#include <stdbool.h>
#include <string.h>

enum { POOL_SLABS_FIRST = 8 };

static const uint32_t POOL_NONE = UINT32_MAX;

void pool_init(pool *p, size_t item_octets, uint32_t items_max)
{
    SKUA_ASSERT(item_octets >= 16);
    SKUA_ASSERT(item_octets % 16 == 0);
    SKUA_ASSERT(item_octets <= UINT32_MAX);
    // Slots are numbered below the end of a whole slab, and none is POOL_NONE.
    SKUA_ASSERT(items_max <= UINT32_MAX - POOL_SLAB_ITEMS);
    *p = (pool){ .item_octets = (uint32_t)item_octets,
                 .items_max = items_max,
                 .free_slot = POOL_NONE };
}

void pool_deinit(pool *p)
{
    SKUA_ASSERT(p->in_use == 0);
    for (uint32_t i = 0; i < p->slab_count; i++)
        memory_free(p->slabs[i]);
    memory_free(p->slabs);
    pool_init(p, p->item_octets, p->items_max);
}

static uint32_t pool_next_of(const void *item, uint32_t slot)
{
    uint32_t distance;
    memcpy(&distance, (const char *)item + sizeof(pool_item), sizeof distance);
    return slot + 1 + distance; // wraps by design
}

static void pool_link(void *item, uint32_t slot, uint32_t next)
{
    uint32_t distance = next - slot - 1;
    memcpy((char *)item + sizeof(pool_item), &distance, sizeof distance);
}

static bool pool_make_slab_room(pool *p)
{
    if (p->slab_count < p->slab_room) return true;
    uint32_t room = p->slab_room ? p->slab_room * 2 : POOL_SLABS_FIRST;
    char **slabs = memory_resize(p->slabs, room * sizeof *slabs);
    if (!slabs) return false;
    p->slabs = slabs;
    p->slab_room = room;
    return true;
}

// Called when no slot is free: the new slab's slots become the list.
static bool pool_grow(pool *p)
{
    if (!pool_make_slab_room(p)) return false;
    char *slab = memory_array(POOL_SLAB_ITEMS, p->item_octets);
    if (!slab) return false;
    uint32_t first = p->slab_count * POOL_SLAB_ITEMS;
    uint32_t last = first + POOL_SLAB_ITEMS - 1;
    p->slabs[p->slab_count++] = slab;
    pool_link(pool_at(p, last), last, POOL_NONE);
    p->free_slot = first;
    return true;
}

void *pool_take(pool *p)
{
    if (p->in_use >= p->items_max) return NULL;
    if (p->free_slot == POOL_NONE && !pool_grow(p)) return NULL;
    uint32_t slot = p->free_slot;
    pool_item *item = pool_at(p, slot);
    SKUA_ASSERT(item->generation % 2 == 0);
    p->free_slot = pool_next_of(item, slot);
    p->in_use++;
    item->slot = slot;
    item->generation++;
    memset((char *)item + sizeof *item, 0, p->item_octets - sizeof *item);
    return item;
}

void pool_give(pool *p, void *object)
{
    pool_item *item = object;
    SKUA_ASSERT(item->slot < p->slab_count * POOL_SLAB_ITEMS);
    SKUA_ASSERT(pool_at(p, item->slot) == object);
    SKUA_ASSERT(item->generation % 2 == 1);
    item->generation++;
    pool_link(item, item->slot, p->free_slot);
    p->free_slot = item->slot;
    p->in_use--;
}
