// SPDX-License-Identifier: MIT
//
// Eight octets at once, and four vectors at once where there are many. A step's length is a multiple
// of the key's, so the key is turned once, to where the payload stands. The octets that were written
// are gathered by OR on the way: text is usually ASCII, and then it need not be looked at again.

#include "http/ws_mask.h"

#ifndef SKUA_NO_WEBSOCKET

#include "http/octets.h"

enum { WS_STEP = 8 };

// The key from its octet at % 4 on, twice. The octet that comes first in memory comes first.
static inline uint64_t ws_turn_key(const uint8_t key[WS_KEY_OCTETS], uint64_t at)
{
    unsigned turn = 8 * (unsigned)(at % WS_KEY_OCTETS), rest = (32 - turn) % 32;
    uint32_t word;
    memcpy(&word, key, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = word >> turn | word << rest;
#else
    word = word << turn | word >> rest;
#endif
    return (uint64_t)word << 32 | word;
}

__attribute__((noinline)) static uint64_t ws_unmask_few(char *out, const char *in, size_t len,
                                                        uint64_t key)
{
    char keys[WS_STEP];
    uint64_t all = 0;
    octets_store(keys, key);
    for (size_t i = 0; i < len; i++) {
        out[i] = (char)(in[i] ^ keys[i]);
        all |= (unsigned char)out[i];
    }
    return all;
}

#if !defined(SKUA_PORTABLE) &&                                                                     \
    (defined(__SSE2__) ||                                                                          \
     (defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)))

typedef uint64_t ws_halves __attribute__((vector_size(16)));
enum { WS_WIDE_STEP = 4 * sizeof(ws_halves) };

// Four vectors a round, as one alone would wait for its own load. Returns how many octets it took.
static size_t ws_unmask_wide(char *out, const char *in, size_t len, uint64_t key, uint64_t *all)
{
    const ws_halves keys = { key, key };
    ws_halves seen = { 0, 0 };
    size_t done = 0;
    for (; len - done >= WS_WIDE_STEP; done += WS_WIDE_STEP) {
        ws_halves v[4];
        memcpy(v, in + done, sizeof v);
        v[0] ^= keys;
        v[1] ^= keys;
        v[2] ^= keys;
        v[3] ^= keys;
        seen |= (v[0] | v[1]) | (v[2] | v[3]);
        memcpy(out + done, v, sizeof v);
    }
    *all |= seen[0] | seen[1];
    return done;
}

#else

static size_t ws_unmask_wide(char *out, const char *in, size_t len, uint64_t key, uint64_t *all)
{
    (void)out, (void)in, (void)len, (void)key, (void)all;
    return 0;
}

#endif

static inline uint64_t ws_unmask_words(char *out, const char *in, size_t len, uint64_t key)
{
    uint64_t all = 0;
    size_t done = 0;
    for (size_t end = len & ~(size_t)(WS_STEP - 1); done < end; done += WS_STEP) {
        uint64_t word = octets_load(in + done) ^ key;
        all |= word;
        octets_store(out + done, word);
    }
    return done < len ? all | ws_unmask_few(out + done, in + done, len - done, key) : all;
}

__attribute__((noinline)) static uint64_t ws_unmask_many(char *out, const char *in, size_t len,
                                                         uint64_t key)
{
    uint64_t all = 0;
    size_t done = ws_unmask_wide(out, in, len, key, &all);
    return all | ws_unmask_words(out + done, in + done, len - done, key);
}

bool ws_unmask(char *out, const char *in, size_t len, const uint8_t key[WS_KEY_OCTETS], uint64_t at)
{
    uint64_t turned = ws_turn_key(key, at);
    uint64_t all = len < WS_MASK_WIDE_MIN ? ws_unmask_words(out, in, len, turned)
                                          : ws_unmask_many(out, in, len, turned);
    return (all & OCTETS_EACH(0x80)) == 0;
}

#endif
