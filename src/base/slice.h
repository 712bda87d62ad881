// SPDX-License-Identifier: MIT
//
// A slice: octets that the slice does not own. It is passed by value, in two registers.
#ifndef SKUA_BASE_SLICE_H
#define SKUA_BASE_SLICE_H

#include "skua/skua.h"

#include <string.h>

typedef skua_slice slice;

static inline slice slice_make(const char *ptr, size_t len)
{
    return (slice){ ptr, len };
}

static inline slice slice_of(const char *text)
{
    return (slice){ text, strlen(text) };
}

static inline slice slice_from(slice s, size_t start)
{
    return (slice){ s.ptr + start, s.len - start };
}

static inline bool slice_equal(slice a, slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline char octet_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

// Equal but for the case of ASCII letters.
static inline bool slice_equal_nocase(slice a, slice b)
{
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++) {
        if (octet_lower(a.ptr[i]) != octet_lower(b.ptr[i])) return false;
    }
    return true;
}

// A hash of a name whatever its case, for tables of names that the program gives.
static inline unsigned slice_hash_nocase(slice s)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < s.len; i++)
        hash = (hash ^ (unsigned char)octet_lower(s.ptr[i])) * 16777619u;
    return hash ^ hash >> 15;
}

// The slice without SP and HTAB at both ends.
static inline slice slice_trim(slice s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = slice_from(s, 1);
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

#endif
