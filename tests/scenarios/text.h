// SPDX-License-Identifier: MIT
//
// Text that grows. For tests: it stops the process when memory runs out.
#ifndef TESTS_SCENARIOS_TEXT_H
#define TESTS_SCENARIOS_TEXT_H

#include "base/slice.h"

// Zero is an empty text. octets has a NUL behind it once anything was added.
typedef struct text {
    char *octets;
    size_t len, room;
} text;

void text_add(text *t, slice octets);
void text_addf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(text *t);

static inline slice text_slice(const text *t)
{
    return slice_make(t->octets, t->len);
}

#endif
