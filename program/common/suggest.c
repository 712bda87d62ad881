// SPDX-License-Identifier: MIT
//
// Nearness is Damerau and Levenshtein's: how many letters were left out, added, replaced, or
// swapped with their neighbour. A word of which only the beginning was written is near, too.

#include "common/suggest.h"

#include <stdbool.h>
#include <string.h>

enum { SUGGEST_OCTETS_MAX = 31 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t word_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[SUGGEST_OCTETS_MAX + 1][SUGGEST_OCTETS_MAX + 1];
    for (size_t i = 0; i <= a_len; i++)
        rows[i][0] = i;
    for (size_t j = 0; j <= b_len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        for (size_t j = 1; j <= b_len; j++) {
            bool equal = a[i - 1] == b[j - 1];
            size_t best = least(rows[i - 1][j], rows[i][j - 1]) + 1;
            best = least(best, rows[i - 1][j - 1] + !equal);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = least(best, rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    return rows[a_len][b_len];
}

// A third of the letters may be wrong; with more, another word is meant.
suggestion suggestion_begin(const char *word, size_t len)
{
    return (suggestion){ .word = word, .len = len, .distance = len / 3 + 1 };
}

void suggestion_offer(suggestion *s, const char *known)
{
    size_t known_len = strlen(known);
    if (s->len > SUGGEST_OCTETS_MAX || known_len > SUGGEST_OCTETS_MAX) return;
    bool begins = s->len >= 3 && s->len < known_len && memcmp(s->word, known, s->len) == 0;
    size_t distance = begins ? 1 : word_distance(s->word, s->len, known, known_len);
    if (distance >= s->distance) return;
    s->distance = distance;
    s->meant = known;
}
