// SPDX-License-Identifier: MIT
//
// SHA-256, FIPS 180-4, of octets that come piece by piece.
#ifndef SKUA_HTTP_SHA256_H
#define SKUA_HTTP_SHA256_H

#include "base/slice.h"

enum { SHA256_OCTETS = SKUA_SHA256_OCTETS, SHA256_BLOCK = 64 };

// Invariant: block holds the last octets % SHA256_BLOCK octets of what was added.
typedef struct sha256 {
    uint32_t state[8];
    uint64_t octets; // so far
    uint8_t block[SHA256_BLOCK];
} sha256;

void sha256_begin(sha256 *hash);
void sha256_add(sha256 *hash, slice octets);

// The digest of all that was added. Nothing is added after it.
void sha256_end(sha256 *hash, uint8_t digest[SHA256_OCTETS]);

#endif
