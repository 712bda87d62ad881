// SPDX-License-Identifier: MIT
//
// Text that grows. For tests: it stops the process when memory runs out.
#ifndef TESTS_APP_TEXT_H
#define TESTS_APP_TEXT_H

#include <skua/skua.h>

// Zero is an empty text. octets has a NUL behind it once anything was added.
typedef struct text {
    char *octets;
    size_t len, room;
} text;

void text_add(text *t, skua_slice octets);
void text_addf(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(text *t);

static inline skua_slice text_slice(const text *t)
{
    return (skua_slice){ t->octets, t->len };
}

#endif
