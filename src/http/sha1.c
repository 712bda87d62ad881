// SPDX-License-Identifier: MIT
//
// The method of RFC 3174 §6.1, one block after the other.

#include "http/sha1.h"

#ifndef SKUA_NO_WEBSOCKET

enum { SHA1_BLOCK = 64, SHA1_LENGTH_AT = 56 };

static uint32_t sha1_rotate(uint32_t word, int bits)
{
    return word << bits | word >> (32 - bits);
}

static void sha1_expand(uint32_t words[80], const uint8_t block[SHA1_BLOCK])
{
    for (int i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * i;
        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 80; i++)
        words[i] = sha1_rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
}

static uint32_t sha1_mix(int round, uint32_t b, uint32_t c, uint32_t d)
{
    if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999u;
    if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1u;
    if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
    return (b ^ c ^ d) + 0xca62c1d6u;
}

static void sha1_block(uint32_t state[5], const uint8_t block[SHA1_BLOCK])
{
    uint32_t words[80], v[5];
    sha1_expand(words, block);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 80; i++) {
        uint32_t next = sha1_rotate(v[0], 5) + sha1_mix(i, v[1], v[2], v[3]) + v[4] + words[i];
        v[4] = v[3];
        v[3] = v[2];
        v[2] = sha1_rotate(v[1], 30);
        v[1] = v[0];
        v[0] = next;
    }
    for (int i = 0; i < 5; i++)
        state[i] += v[i];
}

// The rest of the text, a bit, zeros, and the length of the text in bits: one block or two.
static void sha1_last(uint32_t state[5], slice rest, uint64_t bits)
{
    uint8_t block[2 * SHA1_BLOCK] = { 0 };
    size_t len = rest.len < SHA1_LENGTH_AT ? SHA1_BLOCK : 2 * SHA1_BLOCK;
    if (rest.len) memcpy(block, rest.ptr, rest.len);
    block[rest.len] = 0x80;
    for (size_t i = 0; i < 8; i++)
        block[len - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (size_t at = 0; at < len; at += SHA1_BLOCK)
        sha1_block(state, block + at);
}

void sha1_of(slice text, uint8_t digest[SHA1_OCTETS])
{
    uint32_t state[5] = { 0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u };
    uint64_t bits = (uint64_t)text.len * 8;
    for (; text.len >= SHA1_BLOCK; text = slice_from(text, SHA1_BLOCK))
        sha1_block(state, (const uint8_t *)text.ptr);
    sha1_last(state, text, bits);
    for (int i = 0; i < SHA1_OCTETS; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

#endif
