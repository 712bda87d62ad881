// SPDX-License-Identifier: MIT
//
// Memory: all allocations go through here, so that a program can supply its own allocator. The
// allocator is the process's: the first server sets it, and the end of the last server resets it.
// Memory that may outlive servers is called lasting, and comes from the system.
#ifndef SKUA_BASE_MEMORY_H
#define SKUA_BASE_MEMORY_H

#include "skua/skua.h"

// One more server, which wants that allocator (NULL: the system's; copied). Returns whether it is
// the one in use: as the first it decides. Thread: any.
bool memory_join(const skua_allocator *allocator);

// One server fewer. All it had is given back, itself too.
void memory_leave(void);

// All return NULL when memory ran out. Thread: any.
void *memory_alloc(size_t octets);
void *memory_zeroed(size_t octets);
void *memory_array(size_t count, size_t octets); // zeroed; NULL also when the product is too large
// memory: NULL for none; stays as it is on failure
void *memory_resize(void *memory, size_t octets);
char *memory_text(const char *text); // a copy with its NUL
void memory_free(void *memory);      // NULL is allowed

// Gives freed memory back to the system where freeing alone does not: glibc keeps what lies below
// anything that is in use. Does nothing for an allocator of the program's.
void memory_trim(void);

// Aligned, to a power of two, for what must not share a cache line; given back by the second.
void *memory_aligned(size_t alignment, size_t octets);
void memory_aligned_free(void *memory);

// The system's, zeroed, whatever the allocator is.
void *memory_lasting(size_t octets);
void memory_lasting_free(void *memory);

#endif
