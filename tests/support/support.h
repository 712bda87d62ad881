// SPDX-License-Identifier: MIT
//
// Helpers that unit tests and fuzz targets share.
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include "base/slice.h"

// A copy of octets whose last one lies flush against a page that may not be touched: reading one
// octet too far stops the process. len 0 gives a pointer to that page. Freed by guarded_free.
char *guarded_copy(const char *octets, size_t len);
void guarded_free(char *copy, size_t len);

// Copies a NUL-terminated text flush against forbidden memory, without the NUL.
#define GUARDED_TEXT(text) guarded_copy(text, strlen(text))

// How many rounds a stress test plays: usual, or what SKUA_SOAK_ROUNDS says, for longer runs.
unsigned support_rounds(unsigned usual);

// How many threads this process has; 0: the system does not tell.
unsigned support_threads(void);

// The same when it has not changed for 200 ms: threads that have been joined may take a moment to be gone.
unsigned support_threads_at_rest(void);

#endif
