// SPDX-License-Identifier: MIT
//
// SipHash-1-3: a hash for tables whose keys a peer chooses. Without the secret key no peer can
// choose keys that collide.
#ifndef SKUA_BASE_SIPHASH_H
#define SKUA_BASE_SIPHASH_H

#include "base/slice.h"

#include <stdint.h>

typedef struct siphash_key {
    uint64_t low, high;
} siphash_key;

// A key that nobody can guess.
void siphash_key_random(siphash_key *key);

uint64_t siphash(const siphash_key *key, slice text);

typedef struct siphash_wide_hash {
    uint64_t low, high;
} siphash_wide_hash;

// SipHash-2-4 with 128 bits, the same on every machine: for telling contents apart.
siphash_wide_hash siphash_wide(const siphash_key *key, slice text);

// The same of a text that comes piece by piece.
typedef struct siphash_stream {
    uint64_t v0, v1, v2, v3;
    uint64_t octets; // so far
} siphash_stream;

void siphash_stream_begin(siphash_stream *stream, const siphash_key *key);

// text: of a length that is a multiple of 8.
void siphash_stream_add(siphash_stream *stream, slice text);

// rest: the end of the text, of any length. Nothing is added after it.
siphash_wide_hash siphash_stream_end(siphash_stream *stream, slice rest);

#endif
