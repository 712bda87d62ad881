// SPDX-License-Identifier: MIT
//
// The linker sends every call of malloc here by --wrap, and names the real one __real_malloc.

#include "support/memory.h"

#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t octets);
void *__real_calloc(size_t count, size_t octets);
void *__real_realloc(void *memory, size_t octets);
void *__wrap_malloc(size_t octets);
void *__wrap_calloc(size_t count, size_t octets);
void *__wrap_realloc(void *memory, size_t octets);

static _Thread_local uint64_t *memory_state; // NULL: nothing fails
static _Thread_local unsigned memory_permille;
static _Thread_local uint64_t memory_failed;
static _Thread_local bool memory_counts;
static _Thread_local unsigned memory_left; // before the one that fails

void memory_starve(uint64_t *state, unsigned permille)
{
    memory_state = state;
    memory_permille = permille;
}

void memory_fail_after(unsigned allocations)
{
    memory_counts = true;
    memory_left = allocations;
}

void memory_go_on(void)
{
    memory_counts = true;
}

void memory_relax(void)
{
    memory_state = NULL;
    memory_counts = false;
}

uint64_t memory_failures(void)
{
    return memory_failed;
}

static bool memory_fails(void)
{
    if (memory_counts && memory_left-- == 0) {
        memory_failed++;
        return true;
    }
    if (!memory_state) return false;
    *memory_state = *memory_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if ((*memory_state >> 33) % 1000 >= memory_permille) return false;
    memory_failed++;
    return true;
}

void *__wrap_malloc(size_t octets)
{
    return memory_fails() ? NULL : __real_malloc(octets);
}

void *__wrap_calloc(size_t count, size_t octets)
{
    return memory_fails() ? NULL : __real_calloc(count, octets);
}

void *__wrap_realloc(void *memory, size_t octets)
{
    return memory_fails() ? NULL : __real_realloc(memory, octets);
}
