// SPDX-License-Identifier: MIT
//
// Registry: slots of one kind that the process never frees, so that the oldest handle can still be
// looked up, and refused. A handle is a slot's index and one of its generations; 0 is none.
// A slot's word is its generation, times two; and one unless a handle of that generation is good.
#ifndef SKUA_BASE_REGISTRY_H
#define SKUA_BASE_REGISTRY_H

#include "skua/skua.h"

#include <pthread.h>
#include <stdatomic.h>

enum { REGISTRY_INDEX_BITS = 24, REGISTRY_GENERATION_BITS = 40, REGISTRY_CHUNKS = 17 };

typedef struct registry_slot registry_slot;

// The beginning of every slot.
struct registry_slot {
    struct {
        _Atomic(uint64_t) word;
    } shared;
    registry_slot *next; // free
    uint32_t index;
};

// The lock is for taking batches of slots out and putting them back.
typedef struct registry {
    pthread_mutex_t lock;
    size_t slot_octets;
    uint32_t used;       // slots that were ever given out
    registry_slot *free; // come back from workers that have ended
    struct {
        _Atomic(char *) chunks[REGISTRY_CHUNKS];
    } shared;
} registry;

#define REGISTRY_OF(type) { .lock = PTHREAD_MUTEX_INITIALIZER, .slot_octets = sizeof(type) }

// The slot of that index, whatever it is used for now; NULL when there was never any.  Thread: any.
registry_slot *registry_find(registry *all, uint32_t index);

// A free slot from a worker's list, which is filled again when it is empty.
// Errors: SKUA_ENOMEM; SKUA_ELIMIT all indices are in use.
skua_status registry_take(registry *all, registry_slot **free, registry_slot **slot);

// Puts a slot, no handle of which is good, on the worker's list; one whose generations are used up,
// after 2^40 handles, is never used again.
void registry_put(registry_slot **free, registry_slot *slot);

// The worker's free slots go back to the registry.
void registry_give_back(registry *all, registry_slot **free);

// Makes a handle good: that of the slot's present generation.
uint64_t registry_open(registry_slot *slot);

// The handle of a slot that is in use.
uint64_t registry_handle(const registry_slot *slot);

// The slot of a handle that is not 0 and *word, that of its generation while it is good; NULL for
// what is no handle. Thread: any.
registry_slot *registry_look_up(registry *all, uint64_t handle, uint64_t *word);

// Makes the handle invalid for good. The next generation's is valid from registry_open on.
void registry_advance(registry_slot *slot);

static inline uint64_t registry_word(const registry_slot *slot)
{
    return atomic_load_explicit(&slot->shared.word, memory_order_relaxed);
}

// Whether the slot's generations are used up when its word is that.
bool registry_is_worn(uint64_t word);

#endif
