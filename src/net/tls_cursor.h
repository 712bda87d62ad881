// SPDX-License-Identifier: MIT
//
// Cursor: a place in a session's queue up to which its octets are on the wire, while they stay in the
// queue. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_CURSOR_H
#define SKUA_NET_TLS_CURSOR_H

#include "net/tls_worker.h"

#ifdef SKUA_TLS

#include <sys/types.h>
#include <sys/uio.h>

typedef struct tls_cursor {
    out_queue *queue;
    unsigned segment;
    uint64_t offset; // in that segment
} tls_cursor;

// Goes on behind octets that have been used.
void tls_cursor_skip(tls_cursor *c, uint64_t octets);

// Octets in memory from the cursor on, at most room of them, as pieces that lie where they are.
// Returns: how many pieces. *octets: their sum.
size_t tls_cursor_pieces(const tls_cursor *c, size_t room, slice *pieces, size_t pieces_max,
                         size_t *octets);

// Whether the next octets but skipped ones are a file's.
bool tls_cursor_is_at_file(const tls_cursor *c, size_t skipped);

enum { TLS_PLACES_MAX = 32 };

// Copies octets to places, and goes on behind them. Octets of a file are read to many places at once;
// octets of memory that come behind a file and would begin a place are left, since they can be used
// where they lie. Those of a file that are not in the kernel's memory are loaded elsewhere first:
// IO_COLD says that they are.
// count: at least 1, at most TLS_PLACES_MAX.  flight: remembers what has been loaded.
// Returns: how many; -1: a file is shorter than was said, or cannot be read.
ssize_t tls_cursor_copy(tls_cursor *c, io_loop *loop, io_stream *stream, tls_flight *flight,
                        const struct iovec *places, unsigned count);

#endif
#endif
