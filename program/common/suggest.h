// SPDX-License-Identifier: MIT
//
// Suggestion: the known word nearest to one that was not understood.
#ifndef PROGRAM_COMMON_SUGGEST_H
#define PROGRAM_COMMON_SUGGEST_H

#include <stddef.h>

typedef struct suggestion {
    const char *word;
    size_t len;
    size_t distance;   // of the nearest so far
    const char *meant; // the nearest; NULL: none was near
} suggestion;

// word: of len octets, kept.
suggestion suggestion_begin(const char *word, size_t len);

// Considers known, which is kept.
void suggestion_offer(suggestion *s, const char *known);

#endif
