// SPDX-License-Identifier: MIT
//
// The tables of HPACK's Huffman code, RFC 7541 Appendix B, as tools/huffman.py writes them.
#ifndef SKUA_HTTP_HUFFMAN_TABLE_H
#define SKUA_HTTP_HUFFMAN_TABLE_H

#ifndef SKUA_NO_HTTP2

#include <stdint.h>

enum {
    HUFFMAN_LOOK_BITS = 11,
    HUFFMAN_LENGTHS = 15, // of codes that are longer than a look
    HUFFMAN_LONG = 174,   // octets that have such codes
    HUFFMAN_BITS_MAX = 30
};

extern const uint32_t huffman_codes[256]; // by octet
extern const uint8_t huffman_bits[256];   // of each octet's code

// By the next HUFFMAN_LOOK_BITS bits, which begin with one or two short codes. From the lowest bit:
// the bits of these codes (8, so that a shift can take them as they are), their octets (8 each), the
// bits of the first code (4), and how many there are (4). 0 where a longer code begins.
extern const uint32_t huffman_looks[1 << HUFFMAN_LOOK_BITS];

// Codes longer than a look, by their length. A code is canonical: those of one length follow each
// other, and end where those of the next length begin.
typedef struct huffman_length {
    uint32_t end; // the first code behind them, aligned to the highest of 32 bits
    uint8_t bits;
    uint8_t at; // of the first one's octet in huffman_long
} huffman_length;

extern const huffman_length huffman_lengths[HUFFMAN_LENGTHS];
extern const uint8_t huffman_long[HUFFMAN_LONG];

#endif
#endif
