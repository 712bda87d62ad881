// SPDX-License-Identifier: MIT

#include "conf/siphash.h"

static uint64_t sip_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = sip_rotate(v[1], 13) ^ v[0];
    v[3] = sip_rotate(v[3], 16) ^ v[2];
    v[0] = sip_rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = sip_rotate(v[1], 17) ^ v[2];
    v[3] = sip_rotate(v[3], 21) ^ v[0];
    v[2] = sip_rotate(v[2], 32);
}

static void sip_take(conf_siphash *s)
{
    s->v[3] ^= s->word;
    sip_round(s->v);
    sip_round(s->v);
    s->v[0] ^= s->word;
    s->word = 0;
}

void conf_siphash_add(conf_siphash *s, const char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        s->word |= (uint64_t)(unsigned char)octets[i] << (8 * (s->len % 8));
        if (++s->len % 8 == 0) sip_take(s);
    }
}

static uint64_t sip_half(conf_siphash *s)
{
    for (int i = 0; i < 4; i++)
        sip_round(s->v);
    return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

conf_siphash conf_siphash_begin(const uint64_t key[2])
{
    return (conf_siphash){ .v = { 0x736f6d6570736575u ^ key[0], 0x646f72616e646f6du ^ key[1] ^ 0xee,
                                  0x6c7967656e657261u ^ key[0], 0x7465646279746573u ^ key[1] } };
}

void conf_siphash_end(conf_siphash *s, uint64_t halves[2])
{
    s->word |= (uint64_t)s->len << 56;
    sip_take(s);
    s->v[2] ^= 0xee;
    halves[0] = sip_half(s);
    s->v[1] ^= 0xdd;
    halves[1] = sip_half(s);
}
