// SPDX-License-Identifier: MIT
//
// WIDE_OCTETS octets at once: which of them lie outside a class. SSE2 belongs to every x86-64 and
// NEON to every AArch64, so nothing is chosen at run time here; elsewhere, and with SKUA_PORTABLE,
// it is one octet at once and a table. The classes of names and hosts may be smaller than their
// grammars: octets that are rare there count as outside, and the caller looks at the octet that
// stopped it.
#ifndef SKUA_HTTP_WIDE_H
#define SKUA_HTTP_WIDE_H

#include "http/syntax.h"

typedef enum wide_class {
    WIDE_NAME,  // letters, digits, "-"
    WIDE_HOST,  // and "."
    WIDE_FIELD, // SYNTAX_FIELD exactly
    WIDE_TARGET // SYNTAX_TARGET exactly
} wide_class;

// The class of syntax.h that one octet at a time goes by.
static inline int wide_grammar(wide_class class)
{
    switch (class) {
    case WIDE_NAME: return SYNTAX_TOKEN;
    case WIDE_HOST: return SYNTAX_HOST;
    case WIDE_FIELD: return SYNTAX_FIELD;
    case WIDE_TARGET: return SYNTAX_TARGET;
    }
    return 0;
}

#if !defined(SKUA_PORTABLE) && defined(__SSE2__)

#include <emmintrin.h>

enum { WIDE_OCTETS = 16, WIDE_BITS = 1 }; // WIDE_BITS: bits of a mask for each octet

typedef uint32_t wide_mask; // the first octet's bits are the lowest
typedef uint8_t wide __attribute__((vector_size(16)));

static inline wide_mask wide_mask_of(wide truth)
{
    return (wide_mask)_mm_movemask_epi8((__m128i)truth);
}

#elif !defined(SKUA_PORTABLE) && defined(__aarch64__) && defined(__ARM_NEON) &&                    \
    !defined(__AARCH64EB__)

#include <arm_neon.h>

enum { WIDE_OCTETS = 16, WIDE_BITS = 4 };

typedef uint64_t wide_mask;
typedef uint8_t wide __attribute__((vector_size(16)));

static inline wide_mask wide_mask_of(wide truth)
{
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8((uint8x16_t)truth), 4);
    return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
}

#else

enum { WIDE_OCTETS = 1, WIDE_BITS = 1 };

typedef uint32_t wide_mask;

static inline wide_mask wide_outside(wide_class class, const char *ptr)
{
    return !syntax_is(*ptr, wide_grammar(class));
}

#define WIDE_IS_PORTABLE 1
#endif

#if !defined(WIDE_IS_PORTABLE)

static inline wide wide_all(uint8_t octet)
{
    return (wide){ 0 } + octet;
}

static inline wide wide_equal(wide v, uint8_t octet)
{
    return (wide)(v == wide_all(octet));
}

// Octets from first to first + more.
static inline wide wide_range(wide v, uint8_t first, uint8_t more)
{
    return (wide)(v - wide_all(first) <= wide_all(more));
}

static inline wide wide_is_name(wide v)
{
    return wide_range(v | wide_all(0x20), 'a', 25) | wide_range(v, '0', 9) | wide_equal(v, '-');
}

static inline wide wide_is_host(wide v)
{
    return wide_range(v | wide_all(0x20), 'a', 25) | wide_range(v, '0', 9) | wide_range(v, '-', 1);
}

static inline wide wide_not_field(wide v)
{
    return (wide_range(v, 0, 0x1f) & ~wide_equal(v, '\t')) | wide_equal(v, 0x7f);
}

// What RFC 3986 leaves out, paired by the bit in which neighbours differ: " and #, < and >, \ and
// ^.
static inline wide wide_not_target(wide v)
{
    wide pair = v | wide_all(2);
    wide few = wide_equal(v | wide_all(1), '#') | wide_equal(pair, '>') | wide_equal(pair, '^') |
               wide_equal(v, '`');
    wide edges = wide_range(v, 0, ' ') | (wide)(v > wide_all('z'));
    return (edges | few) & ~wide_equal(v, '~');
}

// The octets of ptr[0..WIDE_OCTETS) outside the class. class: a constant.
static inline wide_mask wide_outside(wide_class class, const char *ptr)
{
    wide v;
    memcpy(&v, ptr, sizeof(v));
    switch (class) {
    case WIDE_NAME: return wide_mask_of(~wide_is_name(v));
    case WIDE_HOST: return wide_mask_of(~wide_is_host(v));
    case WIDE_FIELD: return wide_mask_of(wide_not_field(v));
    case WIDE_TARGET: return wide_mask_of(wide_not_target(v));
    }
    return 0;
}

#endif
#undef WIDE_IS_PORTABLE

// How many octets stand before the first one in mask, which is not 0.
static inline size_t wide_first(wide_mask mask)
{
    return (size_t)__builtin_ctzll(mask) / WIDE_BITS;
}

// Without the first n octets; n below WIDE_OCTETS.
static inline wide_mask wide_drop(wide_mask mask, size_t n)
{
    return mask >> (n * WIDE_BITS);
}

#endif
