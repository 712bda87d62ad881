// SPDX-License-Identifier: MIT
//
// Pool: slots are handed out last in, first out. A free item holds the distance to the next free
// slot, less one, so that a slab fresh from calloc is already a list in order, and no page of it is
// touched before it is needed.
// Invariant: an item's generation is odd exactly while it is in use; it never goes back, also not
// when its slab goes and another comes in its place.

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
    SKUA_ASSERT(item_octets <= UINT32_MAX / POOL_SLAB_ITEMS);
    // Slots are numbered below the end of a whole slab, and none is POOL_NONE.
    SKUA_ASSERT(items_max <= UINT32_MAX - POOL_SLAB_ITEMS);
    *p = (pool){ .item_octets = (uint32_t)item_octets,
                 .items_max = items_max,
                 .free_slot = POOL_NONE };
}

void pool_deinit(pool *p)
{
    SKUA_ASSERT(p->in_use == 0);
    for (uint32_t i = 0; i < p->slab_count; i++) {
        if (p->slabs[i] != p->vacancy) counted_free(p->slabs[i]);
    }
    memory_free(p->vacancy);
    memory_free(p->slabs);
    lease *memory = p->memory;
    pool_init(p, p->item_octets, p->items_max);
    p->memory = memory;
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

// ---- Growing ----

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

static char *pool_slab_new(const pool *p)
{
    char *slab = counted_zeroed(p->memory, (size_t)POOL_SLAB_ITEMS * p->item_octets);
    if (!slab || !p->born) return slab;
    for (uint32_t i = 0; i < POOL_SLAB_ITEMS; i++) {
        pool_item *item = (pool_item *)(void *)(slab + (size_t)i * p->item_octets);
        item->generation = p->born;
    }
    return slab;
}

static void pool_end_vacancy(pool *p)
{
    if (p->vacant_count) return;
    memory_free(p->vacancy);
    p->vacancy = NULL;
}

// Where the next slab goes: to the first place that is vacant, or behind the last.
static uint32_t pool_place(pool *p)
{
    if (!p->vacant_count) return p->slab_count++;
    uint32_t place = 0;
    while (p->slabs[place] != p->vacancy)
        place++;
    p->vacant_count--;
    pool_end_vacancy(p);
    return place;
}

// Called when no slot is free: the new slab's slots become the list.
static bool pool_grow(pool *p)
{
    if (!p->vacant_count && !pool_make_slab_room(p)) return false;
    char *slab = pool_slab_new(p);
    if (!slab) return false;
    uint32_t place = pool_place(p);
    uint32_t first = place * POOL_SLAB_ITEMS;
    uint32_t last = first + POOL_SLAB_ITEMS - 1;
    p->slabs[place] = slab;
    pool_link(pool_at(p, last), last, POOL_NONE);
    p->free_slot = first;
    return true;
}

// ---- Taking and giving ----

void *pool_take(pool *p)
{
    if (p->in_use >= p->items_max) return NULL;
    if (p->free_slot == POOL_NONE && !pool_grow(p)) return NULL;
    uint32_t slot = p->free_slot;
    pool_item *item = pool_at(p, slot);
    SKUA_ASSERT(item->generation % 2 == 0);
    p->free_slot = pool_next_of(item, slot);
    if (++p->in_use > p->most) p->most = p->in_use;
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

// ---- Sweeping ----

static bool pool_is_vacant(const pool *p, uint32_t place)
{
    return p->vacancy && p->slabs[place] == p->vacancy;
}

size_t pool_octets(const pool *p)
{
    return (size_t)(p->slab_count - p->vacant_count) * POOL_SLAB_ITEMS * p->item_octets;
}

// Whether nothing in the slab is in use; *newest becomes the highest generation in it.
static bool pool_slab_is_free(const pool *p, uint32_t place, uint32_t *newest)
{
    *newest = 0;
    for (uint32_t i = 0; i < POOL_SLAB_ITEMS; i++) {
        const pool_item *item = pool_at(p, place * POOL_SLAB_ITEMS + i);
        if (item->generation % 2) return false;
        if (item->generation > *newest) *newest = item->generation;
    }
    return true;
}

static void pool_drop_slabs(pool *p, uint32_t surplus)
{
    for (uint32_t place = p->slab_count; place-- > 0 && surplus;) {
        uint32_t newest;
        if (pool_is_vacant(p, place) || !pool_slab_is_free(p, place, &newest)) continue;
        if (newest > p->born) p->born = newest;
        counted_free(p->slabs[place]);
        p->slabs[place] = p->vacancy;
        p->vacant_count++;
        surplus--;
    }
    while (p->slab_count && pool_is_vacant(p, p->slab_count - 1)) {
        p->slab_count--;
        p->vacant_count--;
    }
    pool_end_vacancy(p);
}

// Makes the list of free slots anew, in order: what is in use gathers in the first slabs with time,
// and the others become free.
static void pool_sort(pool *p)
{
    uint32_t next = POOL_NONE;
    for (uint32_t slot = p->slab_count * POOL_SLAB_ITEMS; slot-- > 0;) {
        if (pool_is_vacant(p, slot / POOL_SLAB_ITEMS)) continue;
        pool_item *item = pool_at(p, slot);
        if (item->generation % 2) continue;
        pool_link(item, slot, next);
        next = slot;
    }
    p->free_slot = next;
}

size_t pool_sweep(pool *p)
{
    size_t before = pool_octets(p);
    uint32_t made = p->slab_count - p->vacant_count;
    uint32_t needed = (p->most + POOL_SLAB_ITEMS - 1) / POOL_SLAB_ITEMS;
    p->most = p->in_use;
    if (made <= needed) return 0;
    if (!p->vacancy) p->vacancy = memory_array(POOL_SLAB_ITEMS, p->item_octets);
    if (!p->vacancy) return 0; // the next sweep tries again
    pool_drop_slabs(p, made - needed);
    pool_sort(p);
    return before - pool_octets(p);
}
