// SPDX-License-Identifier: MIT
//
// Huffman code. Octets that are frequent in fields have codes of 5 to 11 bits; a look at the next
// 11 bits finds one or two of them. Longer codes are found by their length.

#include "http/huffman.h"
#include "http/huffman_table.h"

enum {
    HUFFMAN_WORD = 8,   // octets that are read at once
    HUFFMAN_IN_WORD = 5 // looks that a word of 56 bits lasts for
};

// The first long code, aligned to the highest of 32 bits: all that is less begins with a short one.
#define HUFFMAN_LONG_FROM UINT32_C(0xffa00000)

typedef struct huffman_reader {
    uint64_t bits;  // the next ones, from the highest
    unsigned count; // of them are valid; others are those that follow, or 0
    const unsigned char *at, *end;
} huffman_reader;

static inline uint64_t huffman_load(const unsigned char *p)
{
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
           (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
           (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

static inline void huffman_skip(huffman_reader *in, unsigned bits)
{
    in->bits <<= bits;
    in->count -= bits;
}

// At least 56 bits are valid afterwards. Octets that are not counted yet are read twice, to the
// same place.
static inline void huffman_fill(huffman_reader *in)
{
    in->bits |= huffman_load(in->at) >> in->count;
    in->at += (63 - in->count) >> 3;
    in->count |= 56;
}

static void huffman_fill_rest(huffman_reader *in)
{
    while (in->at < in->end && in->count < 56) {
        in->bits |= (uint64_t)*in->at++ << (56 - in->count);
        in->count += 8;
    }
}

static inline uint32_t huffman_look(uint64_t bits)
{
    return huffman_looks[bits >> (64 - HUFFMAN_LOOK_BITS)];
}

static inline unsigned look_count(uint32_t look)
{
    return look >> 24;
}

static inline unsigned look_bits(uint32_t look)
{
    return look >> 16 & 15;
}

static inline unsigned look_bits_of_first(uint32_t look)
{
    return look >> 20 & 15;
}

static inline char *huffman_put_two(char *out, uint32_t look)
{
    out[0] = (char)look;
    out[1] = (char)(look >> 8);
    return out + look_count(look);
}

// The octet whose long code the bits begin with. Returns the code's bits; 0 for EOS.
static unsigned huffman_find_long(uint64_t bits, char *octet)
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

// As long as a whole word can be read. Returns NULL for EOS.
static char *huffman_decode_words(huffman_reader *in, char *out)
{
    while (in->end - in->at >= HUFFMAN_WORD) {
        huffman_fill(in);
        uint32_t look = 1;
        for (unsigned i = 0; i < HUFFMAN_IN_WORD; i++) {
            look = huffman_look(in->bits);
            if (!look) break;
            out = huffman_put_two(out, look);
            huffman_skip(in, look_bits(look));
        }
        if (look || in->count < HUFFMAN_BITS_MAX) continue;
        unsigned bits = huffman_find_long(in->bits, out++);
        if (!bits) return NULL;
        huffman_skip(in, bits);
    }
    return out;
}

// Takes the code at the end, where bits that are missing are taken for ones, as padding is.
// Returns the bits of what it found; 0: the rest is no code.
static unsigned huffman_take_last(const huffman_reader *in, char **out)
{
    uint64_t padded = in->bits | ~(uint64_t)0 >> in->count;
    uint32_t look = huffman_look(padded);
    char octet = (char)look;
    unsigned bits = look ? look_bits_of_first(look) : huffman_find_long(padded, &octet);
    if (bits == 0 || bits > in->count) return 0;
    *(*out)++ = octet;
    return bits;
}

// RFC 7541 §5.2: padding is the beginning of EOS, which is all ones, and shorter than an octet.
static bool huffman_is_padding(const huffman_reader *in)
{
    return in->count < 8 && (in->bits | ~(uint64_t)0 >> in->count) == ~(uint64_t)0;
}

bool huffman_decode(slice text, char *out, size_t *len)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    huffman_reader in = { .at = at, .end = at + text.len };
    char *start = out;
    out = huffman_decode_words(&in, out);
    if (!out) return false;
    for (unsigned bits = 1; bits;) {
        huffman_fill_rest(&in);
        bits = huffman_take_last(&in, &out);
        huffman_skip(&in, bits);
    }
    *len = (size_t)(out - start);
    return huffman_is_padding(&in);
}

bool huffman_decoded_len(slice text, size_t *len)
{
    const unsigned char *at = (const unsigned char *)text.ptr;
    huffman_reader in = { .at = at, .end = at + text.len };
    *len = 0;
    for (;;) {
        char octet, *out = &octet;
        huffman_fill_rest(&in);
        unsigned bits = huffman_take_last(&in, &out);
        if (!bits) return huffman_is_padding(&in);
        huffman_skip(&in, bits);
        ++*len;
    }
}

size_t huffman_encoded_len(slice text)
{
    size_t bits = 0;
    for (size_t i = 0; i < text.len; i++)
        bits += huffman_bits[(unsigned char)text.ptr[i]];
    return (bits + 7) / 8;
}

char *huffman_encode(char *at, slice text)
{
    uint64_t bits = 0; // the lowest count of them are to be written
    unsigned count = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char octet = (unsigned char)text.ptr[i];
        bits = bits << huffman_bits[octet] | huffman_codes[octet];
        count += huffman_bits[octet];
        for (; count >= 8; count -= 8)
            *at++ = (char)(bits >> (count - 8));
    }
    if (count) *at++ = (char)(bits << (8 - count) | 0xffu >> count);
    return at;
}
