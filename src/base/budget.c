// SPDX-License-Identifier: MIT
//
// Budget. Counted memory has its lease and its length in front.
// Invariant: used <= taken of each lease, and shared.octets is the sum of what all have taken and
// of what was added without one.

#include "base/budget.h"

#include "base/assert.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct counted {
    _Alignas(16) lease *by;
    size_t octets; // with this
} counted;

// ---- The budget ----

void budget_init(budget *b, size_t octets_max, unsigned leases)
{
    size_t step = octets_max / 64 / (leases ? leases : 1);
    if (step > BUDGET_STEP_OCTETS_MAX) step = BUDGET_STEP_OCTETS_MAX;
    if (step < BUDGET_STEP_OCTETS_MIN) step = BUDGET_STEP_OCTETS_MIN;
    b->octets_max = octets_max;
    b->step = step;
    atomic_init(&b->shared.octets, 0);
}

size_t budget_octets(const budget *b)
{
    return atomic_load_explicit(&b->shared.octets, memory_order_relaxed);
}

budget_level budget_level_of(const budget *b)
{
    size_t octets = budget_octets(b), tenth = b->octets_max / 10;
    if (octets >= b->octets_max) return BUDGET_FULL;
    if (octets > 9 * tenth) return BUDGET_SCARCE;
    return octets > 8 * tenth ? BUDGET_LOW : BUDGET_PLENTY;
}

void budget_add(budget *b, size_t octets)
{
    atomic_fetch_add_explicit(&b->shared.octets, octets, memory_order_relaxed);
}

void budget_drop(budget *b, size_t octets)
{
    size_t before = atomic_fetch_sub_explicit(&b->shared.octets, octets, memory_order_relaxed);
    SKUA_ASSERT(before >= octets);
}

// ---- Leases ----

void lease_init(lease *l, budget *of, size_t step, void (*grown)(lease *))
{
    *l = (lease){ .of = of, .step = step ? step : of->step, .grown = grown };
}

void lease_end(lease *l)
{
    SKUA_ASSERT(l->used == 0);
    if (l->taken) budget_drop(l->of, l->taken);
    l->taken = 0;
}

void lease_extend(lease *l)
{
    size_t steps = (l->used - l->taken + l->step - 1) / l->step;
    l->taken += steps * l->step;
    budget_add(l->of, steps * l->step);
    if (l->grown) l->grown(l);
}

// One step stays, so that what goes up and down around a step's end does not touch the budget.
void lease_return(lease *l)
{
    SKUA_ASSERT(l->used <= l->taken);
    size_t steps = (l->taken - l->used) / l->step - 1;
    l->taken -= steps * l->step;
    budget_drop(l->of, steps * l->step);
}

// ---- Counted memory ----

static void *counted_begin(counted *c, lease *by, size_t octets)
{
    if (!c) return NULL;
    c->by = by;
    c->octets = octets;
    if (by) lease_add(by, octets);
    return c + 1;
}

void *counted_alloc(lease *l, size_t octets)
{
    if (octets > SIZE_MAX - sizeof(counted)) return NULL;
    octets += sizeof(counted);
    return counted_begin(memory_alloc(octets), l, octets);
}

void *counted_zeroed(lease *l, size_t octets)
{
    if (octets > SIZE_MAX - sizeof(counted)) return NULL;
    octets += sizeof(counted);
    return counted_begin(memory_zeroed(octets), l, octets);
}

void *counted_resize(lease *l, void *memory, size_t octets)
{
    if (!memory) return counted_alloc(l, octets);
    if (octets > SIZE_MAX - sizeof(counted)) return NULL;
    octets += sizeof(counted);
    counted *c = (counted *)memory - 1;
    size_t before = c->octets;
    SKUA_ASSERT(c->by == l);
    c = memory_resize(c, octets);
    if (!c) return NULL;
    c->octets = octets;
    if (l && octets > before) lease_add(l, octets - before);
    if (l && octets < before) lease_drop(l, before - octets);
    return c + 1;
}

// The octet before it says how far it was moved for that, which is not 0.
__attribute__((noinline)) void *counted_alloc_lined(lease *l, size_t octets, size_t offset)
{
    if (octets > SIZE_MAX - BUDGET_LINE_OCTETS) return NULL;
    char *room = counted_alloc(l, octets + BUDGET_LINE_OCTETS);
    if (!room) return NULL;
    size_t moved = BUDGET_LINE_OCTETS - ((uintptr_t)room + offset) % BUDGET_LINE_OCTETS;
    room[moved - 1] = (char)moved;
    return room + moved;
}

__attribute__((noinline)) void counted_free_lined(void *memory)
{
    char *at = memory;
    if (at) counted_free(at - at[-1]);
}

size_t counted_room(const void *memory)
{
    const counted *c = (const counted *)memory - 1;
    return c->octets - sizeof *c;
}

void counted_free(void *memory)
{
    if (!memory) return;
    counted *c = (counted *)memory - 1;
    if (c->by) lease_drop(c->by, c->octets);
    memory_free(c);
}

void counted_adopt(lease *l, void *memory)
{
    if (!memory) return;
    counted *c = (counted *)memory - 1;
    SKUA_ASSERT(!c->by);
    c->by = l;
    lease_add(l, c->octets);
}
