// SPDX-License-Identifier: MIT
//
// The method of FIPS 180-4 §6.2, one block after the other. No branch and no index depends on what is hashed, so that
// its time tells nothing but the length.

#include "http/sha256.h"

#include "base/contract.h"

enum { SHA256_LENGTH_AT = 56 };

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_rotate(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

static void sha256_expand(uint32_t words[64], const uint8_t block[SHA256_BLOCK])
{
    for (int i = 0; i < 16; i++) {
        const uint8_t *at = block + 4 * i;
        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        uint32_t low = sha256_rotate(a, 7) ^ sha256_rotate(a, 18) ^ a >> 3;
        uint32_t high = sha256_rotate(b, 17) ^ sha256_rotate(b, 19) ^ b >> 10;
        words[i] = words[i - 16] + low + words[i - 7] + high;
    }
}

// v: a to h of the standard.
static void sha256_round(uint32_t v[8], uint32_t more)
{
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    uint32_t e = sha256_rotate(v[4], 6) ^ sha256_rotate(v[4], 11) ^ sha256_rotate(v[4], 25);
    uint32_t a = sha256_rotate(v[0], 2) ^ sha256_rotate(v[0], 13) ^ sha256_rotate(v[0], 22);
    uint32_t first = v[7] + e + choice + more;
    for (int i = 7; i > 0; i--)
        v[i] = v[i - 1];
    v[4] += first;
    v[0] = first + a + majority;
}

static void sha256_mix(uint32_t state[8], const uint8_t block[SHA256_BLOCK])
{
    uint32_t words[64], v[8];
    sha256_expand(words, block);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++)
        sha256_round(v, sha256_constants[i] + words[i]);
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sha256_begin(sha256 *h)
{
    *h = (sha256){ .state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                              0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

void sha256_add(sha256 *h, slice octets)
{
    while (octets.len) {
        size_t at = h->octets % SHA256_BLOCK, room = SHA256_BLOCK - at;
        size_t len = octets.len < room ? octets.len : room;
        memcpy(h->block + at, octets.ptr, len);
        h->octets += len;
        octets = slice_from(octets, len);
        if (len == room) sha256_mix(h->state, h->block);
    }
}

// A bit, zeros, and the length in bits at the end of a block: this one, or the next.
void sha256_end(sha256 *h, uint8_t digest[SHA256_OCTETS])
{
    static const char pad[SHA256_BLOCK] = "\x80";
    uint64_t bits = h->octets * 8;
    size_t at = h->octets % SHA256_BLOCK;
    char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (char)(bits >> (56 - 8 * i));
    size_t zeros =
        at < SHA256_LENGTH_AT ? SHA256_LENGTH_AT - at : SHA256_BLOCK + SHA256_LENGTH_AT - at;
    sha256_add(h, slice_make(pad, zeros));
    sha256_add(h, slice_make(length, sizeof length));
    for (int i = 0; i < SHA256_OCTETS; i++)
        digest[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void skua_sha256(skua_slice octets, unsigned char digest[SKUA_SHA256_OCTETS])
{
    sha256 hash;
    CONTRACT_SLICE(octets);
    CONTRACT_GIVEN(digest);
    sha256_begin(&hash);
    sha256_add(&hash, octets);
    sha256_end(&hash, digest);
}
