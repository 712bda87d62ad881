// SPDX-License-Identifier: MIT
//
// SipHash-2-4 with 128 bits of output, by its authors' description: for short texts, and a key that nobody outside
// knows. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
#ifndef PROGRAM_CONF_SIPHASH_H
#define PROGRAM_CONF_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct conf_siphash {
    uint64_t v[4];
    uint64_t word; // that is being filled
    size_t len;    // octets so far
} conf_siphash;

conf_siphash conf_siphash_begin(const uint64_t key[2]);
void conf_siphash_add(conf_siphash *sip, const char *octets, size_t len);
void conf_siphash_end(conf_siphash *sip, uint64_t halves[2]);

#endif
