// SPDX-License-Identifier: MIT
//
// Short texts, such as names of fields, eight octets at once. Nothing past the end is read.
#ifndef SKUA_HTTP_OCTETS_H
#define SKUA_HTTP_OCTETS_H

#include "base/inline.h"
#include "base/slice.h"

#include <stdint.h>

// One of each octet of a word.
#define OCTETS_EACH(octet) (UINT64_C(0x0101010101010101) * (octet))

static inline uint64_t octets_load(const char *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline void octets_store(char *p, uint64_t word)
{
    memcpy(p, &word, sizeof word);
}

// All of fewer than eight octets; the same for the same octets, and differs for others of that
// length.
static inline uint64_t octets_load_few(const char *p, size_t len)
{
    if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, p, sizeof first);
        memcpy(&last, p + len - sizeof last, sizeof last);
        return first | (uint64_t)last << 32;
    }
    if (len == 0) return 0;
    return (unsigned char)p[0] | (uint64_t)(unsigned char)p[len / 2] << 8 |
           (uint64_t)(unsigned char)p[len - 1] << 16;
}

// For what every request of HTTP/2 passes; octets_equal is the same, and may be called.
static BASE_INLINE_ALWAYS bool octets_equal_at_once(const char *a, const char *b, size_t len)
{
    if (len < 8) return octets_load_few(a, len) == octets_load_few(b, len);
    if (len > 32) return memcmp(a, b, len) == 0;
    uint64_t differ = octets_load(a + len - 8) ^ octets_load(b + len - 8);
    for (size_t i = 0; i + 8 < len; i += 8)
        differ |= octets_load(a + i) ^ octets_load(b + i);
    return differ == 0;
}

static inline bool octets_equal(const char *a, const char *b, size_t len)
{
    return octets_equal_at_once(a, b, len);
}

static inline bool octets_slice_equal(slice a, slice b)
{
    return a.len == b.len && octets_equal(a.ptr, b.ptr, a.len);
}

// Copies text; short ones without a call.
static inline void octets_copy(char *out, slice text)
{
    size_t len = text.len;
    if (len > 32) {
        memcpy(out, text.ptr, len);
    } else if (len >= 8) {
        uint64_t last = octets_load(text.ptr + len - 8);
        for (size_t i = 0; i + 8 < len; i += 8)
            octets_store(out + i, octets_load(text.ptr + i));
        octets_store(out + len - 8, last);
    } else if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, text.ptr, sizeof first);
        memcpy(&last, text.ptr + len - sizeof last, sizeof last);
        memcpy(out, &first, sizeof first);
        memcpy(out + len - sizeof last, &last, sizeof last);
    } else if (len) {
        out[0] = text.ptr[0];
        out[len / 2] = text.ptr[len / 2];
        out[len - 1] = text.ptr[len - 1];
    }
}

// 0x80 in the place of each octet from A to Z; any octets.
static inline uint64_t octets_upper(uint64_t word)
{
    uint64_t low = word & OCTETS_EACH(0x7f);
    uint64_t from_a = low + OCTETS_EACH(0x80 - 'A'), above_z = low + OCTETS_EACH(0x7f - 'Z');
    return from_a & ~above_z & ~word & OCTETS_EACH(0x80);
}

static inline uint64_t octets_lower(uint64_t word)
{
    return word | octets_upper(word) >> 2;
}

// A quick answer, which may be true for others: octets from A to Z have no bit 0x20, and most of what
// names are made of has it.
static inline bool octets_may_have_upper(slice text)
{
    if (text.len < 4) return true;
    uint64_t all =
        text.len < 8 ? octets_load_few(text.ptr, text.len) : octets_load(text.ptr + text.len - 8);
    for (size_t i = 0; i + 8 < text.len; i += 8)
        all &= octets_load(text.ptr + i);
    return (~all & OCTETS_EACH(0x20)) != 0;
}

static inline bool octets_have_upper(slice text)
{
    if (!octets_may_have_upper(text)) return false;
    if (text.len < 8) return octets_upper(octets_load_few(text.ptr, text.len)) != 0;
    uint64_t upper = octets_upper(octets_load(text.ptr + text.len - 8));
    for (size_t i = 0; i + 8 < text.len; i += 8)
        upper |= octets_upper(octets_load(text.ptr + i));
    return upper != 0;
}

// Copies text in lower case.
static inline void octets_copy_lower(char *out, slice text)
{
    if (text.len < 8) {
        for (size_t i = 0; i < text.len; i++)
            out[i] = octet_lower(text.ptr[i]);
        return;
    }
    for (size_t i = 0; i + 8 < text.len; i += 8)
        octets_store(out + i, octets_lower(octets_load(text.ptr + i)));
    size_t last = text.len - 8;
    octets_store(out + last, octets_lower(octets_load(text.ptr + last)));
}

#endif
