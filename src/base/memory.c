// SPDX-License-Identifier: MIT
//
// Memory. The allocator changes only while no server is alive, when nothing of it can be in use.

#include "base/memory.h"

#include "base/assert.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

static struct {
    struct {
        pthread_mutex_t lock;
        unsigned servers;
    } shared;
    skua_allocator given;                 // written before it is published
    _Atomic(const skua_allocator *) used; // NULL: the system's
} memory = { .shared.lock = PTHREAD_MUTEX_INITIALIZER };

static bool memory_is(const skua_allocator *used, const skua_allocator *wanted)
{
    if (!used || !wanted) return used == wanted;
    return used->alloc == wanted->alloc && used->resize == wanted->resize &&
           used->free == wanted->free && used->user == wanted->user;
}

static const skua_allocator *memory_allocator(void)
{
    return atomic_load_explicit(&memory.used, memory_order_acquire);
}

bool memory_join(const skua_allocator *allocator)
{
    pthread_mutex_lock(&memory.shared.lock);
    if (memory.shared.servers++ == 0 && allocator) {
        memory.given = *allocator;
        atomic_store_explicit(&memory.used, &memory.given, memory_order_release);
    }
    bool is_used = memory_is(memory_allocator(), allocator);
    pthread_mutex_unlock(&memory.shared.lock);
    return is_used;
}

void memory_leave(void)
{
    pthread_mutex_lock(&memory.shared.lock);
    SKUA_ASSERT(memory.shared.servers > 0);
    if (--memory.shared.servers == 0)
        atomic_store_explicit(&memory.used, NULL, memory_order_release);
    pthread_mutex_unlock(&memory.shared.lock);
}

void *memory_alloc(size_t octets)
{
    const skua_allocator *by = memory_allocator();
    return by ? by->alloc(octets, by->user) : malloc(octets);
}

void *memory_zeroed(size_t octets)
{
    const skua_allocator *by = memory_allocator();
    if (!by) return calloc(1, octets);
    void *made = by->alloc(octets, by->user);
    return made ? memset(made, 0, octets) : NULL;
}

void *memory_array(size_t count, size_t octets)
{
    if (octets && count > SIZE_MAX / octets) return NULL;
    return memory_zeroed(count * octets);
}

void *memory_resize(void *old, size_t octets)
{
    const skua_allocator *by = memory_allocator();
    if (!by) return realloc(old, octets);
    return old ? by->resize(old, octets, by->user) : by->alloc(octets, by->user);
}

char *memory_text(const char *text)
{
    size_t octets = strlen(text) + 1;
    char *copy = memory_alloc(octets);
    return copy ? memcpy(copy, text, octets) : NULL;
}

void memory_free(void *old)
{
    if (!old) return;
    const skua_allocator *by = memory_allocator();
    if (by) by->free(old, by->user);
    else free(old);
}

void memory_trim(void)
{
#ifdef __GLIBC__
    if (!memory_allocator()) (void)malloc_trim(0);
#endif
}

// The address that was allocated is kept in front of the aligned one.
void *memory_aligned(size_t alignment, size_t octets)
{
    SKUA_ASSERT(alignment >= sizeof(void *) && (alignment & (alignment - 1)) == 0);
    if (octets > SIZE_MAX - alignment - sizeof(void *)) return NULL;
    char *whole = memory_alloc(octets + alignment + sizeof(void *));
    if (!whole) return NULL;
    char *given = whole + sizeof(void *);
    given += (alignment - (uintptr_t)given % alignment) % alignment;
    memcpy(given - sizeof(void *), &whole, sizeof(void *));
    return given;
}

void memory_aligned_free(void *old)
{
    if (!old) return;
    void *whole;
    memcpy(&whole, (char *)old - sizeof(void *), sizeof(void *));
    memory_free(whole);
}

void *memory_lasting(size_t octets)
{
    return calloc(1, octets);
}

void memory_lasting_free(void *old)
{
    free(old);
}
