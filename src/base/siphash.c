// SPDX-License-Identifier: MIT
//
// SipHash-1-3 (Aumasson and Bernstein, 2012): one round for each eight octets, three at the end.
// That is the variant for hash tables; as a signature it would be too short.

#include "base/siphash.h"

#include "base/assert.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

typedef siphash_stream siphash_state;

static inline uint64_t siphash_rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void siphash_round(siphash_state *s)
{
    s->v0 += s->v1;
    s->v2 += s->v3;
    s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
    s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
    s->v0 = siphash_rotate(s->v0, 32);
    s->v2 += s->v1;
    s->v0 += s->v3;
    s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
    s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
    s->v2 = siphash_rotate(s->v2, 32);
}

static inline void siphash_absorb(siphash_state *s, uint64_t word)
{
    s->v3 ^= word;
    siphash_round(s);
    s->v0 ^= word;
}

// Eight octets as a little-endian number.
static inline uint64_t siphash_load(const char *octets)
{
    uint64_t word;
    memcpy(&word, octets, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

// The fewer than eight octets that are left, with the length in the top octet.
static uint64_t siphash_tail(slice text)
{
    uint64_t word = (uint64_t)text.len << 56;
    size_t left = text.len % 8;
    if (left == 0) return word;
    if (text.len > 8) {
        return word | siphash_load(text.ptr + text.len - 8) >> (8 * (8 - left));
    }
    for (size_t i = 0; i < left; i++)
        word |= (uint64_t)(unsigned char)text.ptr[i] << (8 * i);
    return word;
}

uint64_t siphash(const siphash_key *key, slice text)
{
    siphash_state s = { key->low ^ 0x736f6d6570736575u, key->high ^ 0x646f72616e646f6du,
                        key->low ^ 0x6c7967656e657261u, key->high ^ 0x7465646279746573u, 0 };
    for (size_t i = 0; i + 8 <= text.len; i += 8)
        siphash_absorb(&s, siphash_load(text.ptr + i));
    siphash_absorb(&s, siphash_tail(text));
    s.v2 ^= 0xff;
    siphash_round(&s);
    siphash_round(&s);
    siphash_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static inline void siphash_absorb_twice(siphash_state *s, uint64_t word)
{
    s->v3 ^= word;
    siphash_round(s);
    siphash_round(s);
    s->v0 ^= word;
}

static uint64_t siphash_squeeze(siphash_state *s)
{
    for (int i = 0; i < 4; i++)
        siphash_round(s);
    return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

void siphash_stream_begin(siphash_stream *s, const siphash_key *key)
{
    *s = (siphash_stream){ key->low ^ 0x736f6d6570736575u, key->high ^ 0x646f72616e646f6du ^ 0xee,
                           key->low ^ 0x6c7967656e657261u, key->high ^ 0x7465646279746573u, 0 };
}

void siphash_stream_add(siphash_stream *s, slice text)
{
    SKUA_ASSERT(text.len % 8 == 0);
    siphash_stream at = *s; // in registers
    for (size_t i = 0; i < text.len; i += 8)
        siphash_absorb_twice(&at, siphash_load(text.ptr + i));
    at.octets += text.len;
    *s = at;
}

// The length of the last word is that of the whole text, modulo 256.
siphash_wide_hash siphash_stream_end(siphash_stream *s, slice rest)
{
    siphash_stream_add(s, slice_make(rest.ptr, rest.len & ~(size_t)7));
    slice tail = slice_from(rest, rest.len & ~(size_t)7);
    siphash_absorb_twice(s, siphash_tail(tail) + (s->octets << 56));
    siphash_wide_hash hash;
    s->v2 ^= 0xee;
    hash.low = siphash_squeeze(s);
    s->v1 ^= 0xdd;
    hash.high = siphash_squeeze(s);
    return hash;
}

siphash_wide_hash siphash_wide(const siphash_key *key, slice text)
{
    siphash_stream s;
    siphash_stream_begin(&s, key);
    return siphash_stream_end(&s, text);
}

// A kernel without random octets (before 3.17, or one that forbids them) still gives where things
// lie and what time it is, which is better than a key that is in this file.
void siphash_key_random(siphash_key *key)
{
    if (getentropy(key, sizeof *key) == 0) return;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    key->low = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u ^ (uint64_t)(uintptr_t)key;
    key->high =
        (uint64_t)now.tv_sec * 0xc2b2ae3d27d4eb4fu ^ (uint64_t)(uintptr_t)&siphash_key_random;
}
