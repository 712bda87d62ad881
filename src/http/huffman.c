// SPDX-License-Identifier: MIT
//
// Huffman code. Octets that are frequent in fields have codes of 5 to 11 bits; a look at the next
// 11 bits finds one or two of them. Longer codes are found by their length.

#include "http/huffman.h"

#ifndef SKUA_NO_HTTP2
#include "http/huffman_table.h"

enum {
    HUFFMAN_WORD = 8,   // octets that are read at once
    HUFFMAN_IN_WORD = 5 // looks that a word of 56 bits lasts for
};

// The first long code, aligned to the highest of 32 bits: all that is less begins with a short one.
#define HUFFMAN_LONG_FROM UINT32_C(0xffa00000)

static inline uint64_t huffman_load(const unsigned char *p)
{
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
           (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
           (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

static inline uint32_t huffman_load_half(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

// The look at the first of the bits.
static inline uint32_t huffman_look(uint64_t bits)
{
    return huffman_looks[bits >> (64 - HUFFMAN_LOOK_BITS)];
}

static inline unsigned look_bits(uint32_t look)
{
    return look & 0xff;
}

static inline unsigned look_bits_of_first(uint32_t look)
{
    return look >> 24 & 15;
}

// Two octets are written in any case, and counted if they are there.
static inline char *huffman_put(char *out, uint32_t look)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint16_t both = (uint16_t)(look >> 8);
    memcpy(out, &both, sizeof both);
#else
    out[0] = (char)(look >> 8);
    out[1] = (char)(look >> 16);
#endif
    return out + (look >> 28);
}

// The octet whose long code the bits begin with. Returns the code's bits; 0 for EOS.
__attribute__((noinline)) static unsigned huffman_find_long(uint64_t bits, char *octet)
{
    uint32_t code = (uint32_t)(bits >> 32), from = HUFFMAN_LONG_FROM;
    for (unsigned i = 0; i < HUFFMAN_LENGTHS; i++) {
        const huffman_length *length = &huffman_lengths[i];
        if (code < length->end) {
            *octet = (char)huffman_long[length->at + ((code - from) >> (32 - length->bits))];
            return length->bits;
        }
        from = length->end;
    }
    return 0;
}

// ---- Decoding ----

typedef struct huffman_reader {
    uint64_t bits;  // the next ones, from the highest
    unsigned count; // of them are valid; behind them are those that follow, or nothing
    const unsigned char *at, *end;
} huffman_reader;

static inline void huffman_skip(huffman_reader *in, unsigned bits)
{
    in->bits <<= bits;
    in->count -= bits;
}

// Takes what a whole word holds, of which there is one. Looks at a long code find nothing and move
// nothing, so that only the last of them has to be asked. Returns NULL for EOS.
static inline char *huffman_decode_word(huffman_reader *in, char *out)
{
    in->bits |= huffman_load(in->at) >> in->count;
    in->at += (63 - in->count) >> 3; // octets that are used in part are read again
    in->count |= 56;
    uint32_t look = 0, sum = 0;
    for (unsigned i = 0; i < HUFFMAN_IN_WORD; i++) {
        look = huffman_look(in->bits);
        out = huffman_put(out, look);
        in->bits <<= look_bits(look);
        sum += look;
    }
    in->count -= sum & 0xff; // the bits of all looks
    if (look || in->count < HUFFMAN_BITS_MAX) return out;
    unsigned bits = huffman_find_long(in->bits, out);
    huffman_skip(in, bits);
    return bits ? out + 1 : NULL;
}

static inline bool huffman_has_word(const huffman_reader *in)
{
    return in->end - in->at >= HUFFMAN_WORD;
}

// The last octets, fewer than a word, with padding behind them.
static inline uint64_t huffman_load_rest(const unsigned char *at, unsigned octets)
{
    if (octets == 0) return ~(uint64_t)0;
    const unsigned char *last = at + octets;
    uint64_t word = ~(uint64_t)0 >> 8 * octets;
    if (octets >= 4)
        return word | (uint64_t)huffman_load_half(at) << 32 |
               (uint64_t)huffman_load_half(last - 4) << (64 - 8 * octets);
    unsigned middle = octets / 2;
    return word | (uint64_t)at[0] << 56 | (uint64_t)at[middle] << (56 - 8 * middle) |
           (uint64_t)last[-1] << (64 - 8 * octets);
}

static inline bool huffman_is_padding(const huffman_reader *in, unsigned left)
{
    return left < 8 && in->bits >> 56 == 0xff;
}

// Decodes the last octets. The reader gives ones behind them, which is what padding is made of (RFC 7541 §5.2: the
// beginning of EOS, shorter than an octet). Returns NULL where the bits are no code.
static inline char *huffman_decode_rest(huffman_reader *in, char *out)
{
    unsigned octets = (unsigned)(in->end - in->at), left = in->count + 8 * octets;
    uint64_t next = huffman_load_rest(in->at, octets);
    for (;;) {
        if (in->count < HUFFMAN_BITS_MAX) {
            unsigned more = (63 - in->count) & 56;
            in->bits |= next >> in->count;
            next = next << more | (((uint64_t)1 << more) - 1);
            in->count |= 56;
        }
        uint32_t look = huffman_look(in->bits);
        unsigned bits = look_bits(look);
        if (bits - 1 < left) {
            out = huffman_put(out, look);
        } else {
            if (huffman_is_padding(in, left)) return out;
            *out = (char)(look >> 8);
            bits = look ? look_bits_of_first(look) : huffman_find_long(in->bits, out);
            if (bits - 1 >= left) return NULL;
            out++;
        }
        huffman_skip(in, bits);
        left -= bits;
    }
}

static huffman_reader huffman_read(slice text)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    return (huffman_reader){ .at = at, .end = at + text.len };
}

bool huffman_decode(slice text, char *out, size_t *len)
{
    huffman_reader in = huffman_read(text);
    char *end = out;
    while (end && huffman_has_word(&in))
        end = huffman_decode_word(&in, end);
    if (end) end = huffman_decode_rest(&in, end);
    if (!end) return false;
    *len = (size_t)(end - out);
    return true;
}

bool huffman_decoded_len(slice text, size_t *len)
{
    huffman_reader in = huffman_read(text);
    char octets[2 * HUFFMAN_WORD * 8 / 5]; // of which two words hold fewer
    for (*len = 0; huffman_has_word(&in);) {
        const char *end = huffman_decode_word(&in, octets);
        if (!end) return false;
        *len += (size_t)(end - octets);
    }
    const char *end = huffman_decode_rest(&in, octets);
    if (end) *len += (size_t)(end - octets);
    return end != NULL;
}

size_t huffman_encoded_len(slice text)
{
    size_t bits = 0;
    for (size_t i = 0; i < text.len; i++)
        bits += huffman_bits[(unsigned char)text.ptr[i]];
    return (bits + 7) / 8;
}

static inline char *huffman_put_half(char *at, uint32_t bits)
{
    at[0] = (char)(bits >> 24);
    at[1] = (char)(bits >> 16);
    at[2] = (char)(bits >> 8);
    at[3] = (char)bits;
    return at + 4;
}

char *huffman_encode(char *at, slice text)
{
    uint64_t bits = 0; // the lowest count of them are to be written
    unsigned count = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char octet = (unsigned char)text.ptr[i];
        bits = bits << huffman_bits[octet] | huffman_codes[octet];
        count += huffman_bits[octet];
        if (count < 32) continue;
        count -= 32;
        at = huffman_put_half(at, (uint32_t)(bits >> count));
    }
    for (; count >= 8; count -= 8)
        *at++ = (char)(bits >> (count - 8));
    if (count) *at++ = (char)(bits << (8 - count) | 0xffu >> count);
    return at;
}

#endif
