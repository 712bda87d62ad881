// SPDX-License-Identifier: MIT
//
// WIDE_OCTETS octets at once: which of them lie outside a class. SSE2 belongs to every x86-64 and
// NEON to every AArch64, so nothing is chosen at run time here; elsewhere, and with SKUA_PORTABLE,
// it is one octet at once and a table. Most classes may be smaller than their grammars: octets that
// are rare there count as outside, and the caller looks at the octet that stopped it.
#ifndef SKUA_HTTP_WIDE_H
#define SKUA_HTTP_WIDE_H

#include "http/syntax.h"

typedef enum wide_class {
    WIDE_NAME,  // letters, digits, "-"
    WIDE_HOST,  // and "."
    WIDE_TEXT,  // SP and what is visible of ASCII
    WIDE_FIELD, // SYNTAX_FIELD exactly
    WIDE_PATH,  // letters, digits, "-", ".", "/"
    WIDE_TARGET // SYNTAX_TARGET exactly
} wide_class;

// The class of syntax.h by which octets that are looked at one at a time are judged.
static inline int wide_grammar(wide_class class)
{
    switch (class) {
    case WIDE_NAME: return SYNTAX_TOKEN;
    case WIDE_HOST: return SYNTAX_HOST;
    case WIDE_TEXT:
    case WIDE_FIELD: return SYNTAX_FIELD;
    case WIDE_PATH:
    case WIDE_TARGET: return SYNTAX_TARGET;
    }
    return 0;
}

#if !defined(SKUA_PORTABLE) && defined(__SSE2__)

#include <emmintrin.h>

enum { WIDE_OCTETS = 16, WIDE_BITS = 1 }; // WIDE_BITS: bits of a mask for each octet

typedef uint32_t wide_mask; // the first octet's bits are the lowest
typedef uint8_t wide __attribute__((vector_size(16)));
typedef int8_t wide_signed __attribute__((vector_size(16)));

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
typedef int8_t wide_signed __attribute__((vector_size(16)));

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

static inline bool wide_holds_few(wide_class class, const char *ptr, size_t len)
{
    while (len > 0 && syntax_is(ptr[len - 1], wide_grammar(class)))
        len--;
    return len == 0;
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

// Octets from first to first + more: shifted to the least there are with a sign, since processors
// order octets with one.
static inline wide wide_range(wide v, uint8_t first, uint8_t more)
{
    wide shifted = v - wide_all((uint8_t)(first + 0x80));
    return (wide)((wide_signed)shifted < (wide_signed)wide_all((uint8_t)(more + 1 + 0x80)));
}

static inline wide wide_is_name(wide v)
{
    return wide_range(v | wide_all(0x20), 'a', 25) | wide_range(v, '0', 9) | wide_equal(v, '-');
}

static inline wide wide_is_host(wide v)
{
    return wide_range(v | wide_all(0x20), 'a', 25) | wide_range(v, '0', 9) | wide_range(v, '-', 1);
}

static inline wide wide_is_path(wide v)
{
    return wide_range(v | wide_all(0x20), 'a', 25) | wide_range(v, '-', '9' - '-');
}

// One more than an octet of it is 0x21 to 0x7f: of all octets, these are the greatest with a sign.
static inline wide wide_not_text(wide v)
{
    return (wide)((wide_signed)(v + wide_all(1)) < (wide_signed)wide_all(0x21));
}

static inline wide wide_not_field(wide v)
{
    return (wide_range(v, 0, 0x1f) & ~wide_equal(v, '\t')) | wide_equal(v, 0x7f);
}

// Outside of ASCII's visible octets, as in wide_not_text but for SP; and what is missing among
// them, paired by the bit in which neighbours differ: " and #, < and >.
static inline wide wide_not_target(wide v)
{
    wide visible_not = (wide)((wide_signed)(v + wide_all(1)) < (wide_signed)wide_all(0x22));
    return visible_not | wide_equal(v | wide_all(1), '#') | wide_equal(v | wide_all(2), '>');
}

static inline wide_mask wide_outside_of(wide_class class, wide v)
{
    switch (class) {
    case WIDE_NAME: return wide_mask_of(~wide_is_name(v));
    case WIDE_HOST: return wide_mask_of(~wide_is_host(v));
    case WIDE_TEXT: return wide_mask_of(wide_not_text(v));
    case WIDE_FIELD: return wide_mask_of(wide_not_field(v));
    case WIDE_PATH: return wide_mask_of(~wide_is_path(v));
    case WIDE_TARGET: return wide_mask_of(wide_not_target(v));
    }
    return 0;
}

// The octets of ptr[0..WIDE_OCTETS) outside the class. class: a constant.
static inline wide_mask wide_outside(wide_class class, const char *ptr)
{
    wide v;
    memcpy(&v, ptr, sizeof(v));
    return wide_outside_of(class, v);
}

// Whether len octets, 8 to 16, are all of the class: the first eight and the last eight, in one
// look.
static inline bool wide_holds_few(wide_class class, const char *ptr, size_t len)
{
    typedef uint64_t wide_halves __attribute__((vector_size(16)));
    uint64_t first, last;
    memcpy(&first, ptr, sizeof first);
    memcpy(&last, ptr + len - sizeof last, sizeof last);
    return wide_outside_of(class, (wide)(wide_halves){ first, last }) == 0;
}

#endif
#undef WIDE_IS_PORTABLE

// How many octets stand before the first one in mask, which is not 0.
static inline size_t wide_first(wide_mask mask)
{
    bool is_long = sizeof mask > sizeof(unsigned);
    return (unsigned)(is_long ? __builtin_ctzll(mask) : __builtin_ctz((unsigned)mask)) / WIDE_BITS;
}

// The mask without the first n octets; n below WIDE_OCTETS.
static inline wide_mask wide_drop(wide_mask mask, size_t n)
{
    return mask >> (n * WIDE_BITS);
}

#endif
