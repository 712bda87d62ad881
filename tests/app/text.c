// SPDX-License-Identifier: MIT
//
// Text that grows.

#include "app/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Memory for the tests themselves is there even where the server's allocations are made to fail.
static void text_make_room(text *t, size_t octets)
{
    if (t->room - t->len > octets) return;
    t->room = 2 * (t->len + octets) + 64;
    char *grown = NULL;
    for (int i = 0; i < 1000 && !grown; i++)
        grown = realloc(t->octets, t->room);
    if (!grown) abort();
    t->octets = grown;
}

void text_add(text *t, skua_slice octets)
{
    text_make_room(t, octets.len);
    if (octets.len) memcpy(t->octets + t->len, octets.ptr, octets.len);
    t->len += octets.len;
    t->octets[t->len] = 0;
}

void text_addf(text *t, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (len < 0 || len >= (int)sizeof line) abort();
    text_add(t, (skua_slice){ line, (size_t)len });
}

void text_free(text *t)
{
    free(t->octets);
    *t = (text){ .len = 0 };
}
