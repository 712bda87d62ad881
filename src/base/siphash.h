// SPDX-License-Identifier: MIT
//
// SipHash-1-3: a hash for tables whose keys a peer chooses. Without the key nobody can aim at a
// bucket.
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

#endif
