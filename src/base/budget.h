// SPDX-License-Identifier: MIT
//
// Budget: how much memory the clients of a server make it hold, and the limit. Each worker counts
// in a lease of its own, which takes from the budget in large steps, so that workers share nothing
// while they serve. Counting never fails; server/pressure.h acts on the level.
#ifndef SKUA_BASE_BUDGET_H
#define SKUA_BASE_BUDGET_H

#include <stdatomic.h>
#include <stddef.h>

enum { BUDGET_LINE_OCTETS = 64 }; // of a cache, on most processors

enum { BUDGET_STEP_OCTETS_MAX = 262144, BUDGET_STEP_OCTETS_MIN = 4096 };

typedef enum budget_level {
    BUDGET_PLENTY,
    BUDGET_LOW,    // above 80 %
    BUDGET_SCARCE, // above 90 %
    BUDGET_FULL,   // everything, or more
} budget_level;

typedef struct budget {
    size_t octets_max;
    size_t step; // of a worker's lease
    struct {
        atomic_size_t octets; // that leases have, used or not
    } shared;
} budget;

typedef struct lease lease;

struct lease {
    budget *of;
    size_t used;            // octets
    size_t taken;           // from the budget; never less than used
    size_t step;            // what more is taken and given back in
    void (*grown)(lease *); // called when more has been taken; may be NULL
};

// leases: how many workers will share it. Steps are so small that what they have and do not use is
// at most a thirty-second of the whole, unless that is less than two of the smallest for each.
void budget_init(budget *b, size_t octets_max, unsigned leases);

// Thread: any.
size_t budget_octets(const budget *b);
budget_level budget_level_of(const budget *b);

// Counts octets that no lease does.  Thread: any.
void budget_add(budget *b, size_t octets);
void budget_drop(budget *b, size_t octets);

// step: 0 for that of the budget.
void lease_init(lease *l, budget *of, size_t step, void (*grown)(lease *));

// Gives everything back. Nothing may be used any more.
void lease_end(lease *l);

void lease_extend(lease *l);
void lease_return(lease *l);

static inline void lease_add(lease *l, size_t octets)
{
    l->used += octets;
    if (l->used > l->taken) lease_extend(l);
}

static inline void lease_drop(lease *l, size_t octets)
{
    l->used -= octets;
    if (l->taken - l->used >= 2 * l->step) lease_return(l);
}

// Memory that is counted until it is freed, also where nobody knows whose it was and how long.
// l: NULL for memory that is not counted. All return NULL when memory ran out.
void *counted_alloc(lease *l, size_t octets);
void *counted_zeroed(lease *l, size_t octets);
void *counted_resize(lease *l, void *memory, size_t octets); // memory: NULL for none
void counted_free(void *memory);                             // NULL is allowed

// Counted memory whose octet at that place is the first of a line of the processor's cache, so that members that are used
// together take as few lines as they can. offset: a multiple of what the memory is to be aligned to, at most 16.
void *counted_alloc_lined(lease *l, size_t octets, size_t offset);
void counted_free_lined(void *memory); // NULL is allowed

// How long counted memory is, as it was asked for.
size_t counted_room(const void *memory);

// Counts memory that another thread has allocated, without a lease. memory: NULL is allowed.
void counted_adopt(lease *l, void *memory);

#endif
