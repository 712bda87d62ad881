// SPDX-License-Identifier: MIT
//
// The part of a worker in TLS: contexts that are ready, flights that are free, and how many steps of
// handshakes a turn has taken. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_WORKER_H
#define SKUA_NET_TLS_WORKER_H

#include "io/io.h"
#include "net/tls_contexts.h"
#include "net/tls_facts.h"

#ifdef SKUA_TLS

// So many steps of handshakes are taken in a turn, and others wait for the next. A request that comes
// during a turn is read in the one after it, so it waits for the steps of two turns at most.
enum { TLS_STEPS_PER_TURN_MAX = 4 };

enum { TLS_SEGMENTS = 40, TLS_STAGE_OCTETS = 16384 };

typedef struct tls_flight tls_flight;

// The part of a connection that it has only while something is under way.
struct tls_flight {
    tls_flight *next; // free
    bool is_used;     // since the last sweep
    uint32_t fresh;   // octets that were sent since the connection took it, as far as that matters
    // The part of a file that has been loaded, and is read however long that takes.
    int loaded_file;
    uint64_t loaded_to;
    out_segment segments[TLS_SEGMENTS]; // of the wire
};

typedef struct tls_worker {
    io_loop *loop;
    lease *memory;
    block_store *blocks;
    tls_contexts contexts;
    tls_flight *free_flights;
    tls_facts *recent_facts; // of the last handshake, for those that are like it; NULL: none
    int64_t turn_ns;         // of the turn that steps counts
    unsigned steps;
    char plain[TLS_STAGE_OCTETS];  // octets that OpenSSL has read
    char staged[TLS_STAGE_OCTETS]; // octets that it is to protect
} tls_worker;

// Returns: false when memory ran out; there is nothing to be given back then.
bool tls_worker_init(tls_worker *w, io_loop *loop, lease *memory, block_store *blocks);

// No transport of its may be left.
void tls_worker_deinit(tls_worker *w);

// Whether one more step of a handshake may be taken in this turn.
bool tls_worker_steps(tls_worker *w);

// Returns: NULL when memory ran out.
tls_flight *tls_worker_take_flight(tls_worker *w);
void tls_worker_give_flight(tls_worker *w, tls_flight *flight);

// Frees what has not been used since the last sweep.
// Returns: octets that were freed.
size_t tls_worker_sweep(tls_worker *w);

// Frees the flights that no connection has.
void tls_worker_free_flights(tls_worker *w);

#endif
#endif
