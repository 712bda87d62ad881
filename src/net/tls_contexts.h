// SPDX-License-Identifier: MIT
//
// Contexts of ciphers that have a connection's keys already, so that a record costs setting its
// nonce and nothing more. A worker keeps them for the connections that it has served last, and the
// others keep their keys alone. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_CONTEXTS_H
#define SKUA_NET_TLS_CONTEXTS_H

#include "base/budget.h"
#include "net/tls_keys.h"

#ifdef SKUA_TLS

// How many pairs a worker keeps, and what one is counted as.
enum { TLS_PAIRS_MAX = 1024, TLS_PAIR_OCTETS = 2304 };

// How many records are protected by one key before the next generation, of at most 2^24.5 (RFC 8446
// §5.5).
enum { TLS_RECORDS_PER_KEY = 1 << 22 };

typedef enum tls_direction {
    TLS_OPEN,
    TLS_SEAL
} tls_direction; // what the peer sends; what we send

enum { TLS_DIRECTIONS = 2 };

typedef struct tls_pair tls_pair;

struct tls_pair {
    tls_pair **owner; // where the owner knows it by
    tls_pair *older, *newer;
    EVP_CIPHER_CTX *contexts[TLS_DIRECTIONS];
    uint64_t used;   // number of its last use
    uint64_t placed; // what used was when the pair was put at its place in the order
    uint8_t suite;   // TLS_SUITES: none yet
};

typedef struct tls_contexts {
    lease *memory;             // NULL: not counted
    unsigned pairs, pairs_max; // pairs_max may be set to another number than 0
    uint64_t records_per_key;  // may be set to another number than 0
    tls_pair *oldest, *newest; // in the order of placed
    uint64_t uses, swept;      // so far; at the last sweep
    tls_labels labels;
    EVP_CIPHER *ciphers[TLS_SUITES]; // NULL: the library does not have it
} tls_contexts;

// Returns: false when memory ran out; there is nothing to be given back then.
bool tls_contexts_init(tls_contexts *c, lease *memory);

// No connection may be left that uses it.
void tls_contexts_deinit(tls_contexts *c);

// Whether records of the suite can be protected here; others are left to the library's own layer.
bool tls_contexts_have(const tls_contexts *c, tls_suite suite);

// The pair of a connection, with its keys. Where there may be no more pairs, another connection loses its own, if possible one
// that has not been served for long.
// pair: where the connection keeps it until it is dropped. It becomes NULL when another connection
// takes the pair, so it must not move.
// Returns: NULL when memory ran out.
tls_pair *tls_contexts_find(tls_contexts *c, tls_pair **pair, const tls_keys keys[TLS_DIRECTIONS]);

// One direction has other keys: the old ones are overwritten. Does nothing without a pair.
void tls_contexts_rekey(tls_contexts *c, tls_pair **pair, tls_direction direction,
                        const tls_keys *keys);

// Wipes the pair and frees it; *pair is NULL afterwards.  *pair: NULL is allowed.
void tls_contexts_drop(tls_contexts *c, tls_pair **pair);

// Wipes and frees all of them; or those that have not been used since the last sweep.
// Returns: octets that were freed.
size_t tls_contexts_empty(tls_contexts *c);
size_t tls_contexts_sweep(tls_contexts *c);

#endif
#endif
