// SPDX-License-Identifier: MIT
//
// HPACK's Huffman code for strings, RFC 7541 §5.2.
#ifndef SKUA_HTTP_HUFFMAN_H
#define SKUA_HTTP_HUFFMAN_H

#ifndef SKUA_NO_HTTP2

#include "base/slice.h"

#include <stdint.h>

// The room that huffman_decode needs: a code has five bits or more, and two octets are written at
// once.
static inline size_t huffman_room(size_t coded_octets)
{
    return coded_octets * 8 / 5 + 1;
}

// Decodes text into out, which has huffman_room(text.len) octets.
// Returns: false for what is no code: EOS in it, more than seven bits of padding, or padding that
// has a zero.
bool huffman_decode(slice text, char *out, size_t *len);

// How many octets huffman_decode would write, for what is too large to be decoded.
// Returns: as huffman_decode.
bool huffman_decoded_len(slice text, size_t *len);

// How many octets huffman_encode writes.
size_t huffman_encoded_len(slice text);

// Encodes text. Returns where the next octet goes.
char *huffman_encode(char *at, slice text);

#endif
#endif
