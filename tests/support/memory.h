// SPDX-License-Identifier: MIT
//
// Makes allocations of the calling thread fail. Programs that use it are linked with
// --wrap=malloc,--wrap=calloc,--wrap=realloc.
#ifndef TESTS_MEMORY_H
#define TESTS_MEMORY_H

#include <stdint.h>

// From now on so many of a thousand allocations fail; which ones follows from *state, which is
// kept. state: not NULL; until memory_relax.
void memory_starve(uint64_t *state, unsigned permille);
// From now on the allocation after so many more fails, once; until memory_relax, which keeps count.
void memory_fail_after(unsigned allocations);
void memory_go_on(void); // as before memory_relax
void memory_relax(void);

// How many have failed in this thread.
uint64_t memory_failures(void);

#endif
