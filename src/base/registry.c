// SPDX-License-Identifier: MIT
//
// Registry: chunks of slots, each twice as large as the one before, so that a slot never moves.

#include "base/registry.h"

#include "base/assert.h"
#include "base/memory.h"

// Chunk number k has room for REGISTRY_FIRST << k slots. A worker takes REGISTRY_BATCH at a time.
enum { REGISTRY_FIRST = 128, REGISTRY_BATCH = 64 };

static const uint64_t registry_generation_max = (UINT64_C(1) << REGISTRY_GENERATION_BITS) - 1;

// ---- Chunks ----

static unsigned registry_chunk_of(uint32_t index)
{
    return 31u - (unsigned)__builtin_clz(index / REGISTRY_FIRST + 1);
}

static uint32_t registry_chunk_start(unsigned chunk)
{
    return ((UINT32_C(1) << chunk) - 1) * REGISTRY_FIRST;
}

registry_slot *registry_find(registry *all, uint32_t index)
{
    unsigned chunk = registry_chunk_of(index);
    if (chunk >= REGISTRY_CHUNKS) return NULL;
    char *slots = atomic_load_explicit(&all->shared.chunks[chunk], memory_order_acquire);
    if (!slots) return NULL;
    return (void *)(slots + (size_t)(index - registry_chunk_start(chunk)) * all->slot_octets);
}

// Called with the lock held. A slot that no handle was ever made of.
static skua_status registry_slot_new(registry *all, registry_slot **slot)
{
    uint32_t index = all->used;
    unsigned chunk = registry_chunk_of(index);
    if (chunk >= REGISTRY_CHUNKS) return SKUA_ELIMIT;
    if (index == registry_chunk_start(chunk)) {
        char *slots = memory_lasting(((size_t)REGISTRY_FIRST << chunk) * all->slot_octets);
        if (!slots) return SKUA_ENOMEM;
        atomic_store_explicit(&all->shared.chunks[chunk], slots, memory_order_release);
    }
    all->used++;
    registry_slot *made = registry_find(all, index);
    SKUA_ASSERT(made);
    made->index = index;
    atomic_store_explicit(&made->shared.word, 1 << 1 | 1, memory_order_relaxed);
    *slot = made;
    return SKUA_OK;
}

// ---- A worker's list ----

static skua_status registry_take_batch(registry *all, registry_slot **free)
{
    skua_status status = SKUA_OK;
    pthread_mutex_lock(&all->lock);
    for (int i = 0; i < REGISTRY_BATCH && status == SKUA_OK; i++) {
        registry_slot *slot = all->free;
        if (slot) all->free = slot->next;
        else status = registry_slot_new(all, &slot);
        if (status) break;
        slot->next = *free;
        *free = slot;
    }
    pthread_mutex_unlock(&all->lock);
    return *free ? SKUA_OK : status;
}

skua_status registry_take(registry *all, registry_slot **free, registry_slot **slot)
{
    skua_status status = *free ? SKUA_OK : registry_take_batch(all, free);
    if (status) return status;
    *slot = *free;
    *free = (*slot)->next;
    return SKUA_OK;
}

void registry_put(registry_slot **free, registry_slot *slot)
{
    if (registry_is_worn(registry_word(slot))) return;
    slot->next = *free;
    *free = slot;
}

void registry_give_back(registry *all, registry_slot **free)
{
    pthread_mutex_lock(&all->lock);
    while (*free) {
        registry_slot *slot = *free;
        *free = slot->next;
        slot->next = all->free;
        all->free = slot;
    }
    pthread_mutex_unlock(&all->lock);
}

// ---- Handles ----

bool registry_is_worn(uint64_t word)
{
    return word >> 1 == registry_generation_max;
}

uint64_t registry_open(registry_slot *slot)
{
    uint64_t word = registry_word(slot) & ~UINT64_C(1);
    atomic_store_explicit(&slot->shared.word, word, memory_order_release);
    return registry_handle(slot);
}

uint64_t registry_handle(const registry_slot *slot)
{
    return (registry_word(slot) >> 1) << REGISTRY_INDEX_BITS | slot->index;
}

registry_slot *registry_look_up(registry *all, uint64_t handle, uint64_t *word)
{
    *word = handle >> REGISTRY_INDEX_BITS << 1;
    if (*word == 0) return NULL;
    return registry_find(all, (uint32_t)(handle & ((UINT32_C(1) << REGISTRY_INDEX_BITS) - 1)));
}

void registry_advance(registry_slot *slot)
{
    uint64_t word = registry_word(slot) | 1;
    SKUA_ASSERT(!registry_is_worn(word));
    atomic_store_explicit(&slot->shared.word, word + 2, memory_order_release);
}
