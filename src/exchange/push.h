// SPDX-License-Identifier: MIT
//
// Content that the handler writes piece by piece, and tunnels, as the server's other parts see
// them.
#ifndef SKUA_EXCHANGE_PUSH_H
#define SKUA_EXCHANGE_PUSH_H

#include "exchange/request.h"

// Room in the connection's queue for one piece, framed.
typedef struct stream_piece {
    char *at; // len octets go here; NULL: they are dropped
    size_t len;
    bool lent; // from the heap
} stream_piece;

// Room for len octets, or why there is none: the errors of skua_write. To be filled and committed
// before anything else is done with the request.
skua_status stream_reserve(skua_request *r, size_t len, stream_piece *piece);
skua_status stream_commit(skua_request *r, const stream_piece *piece);

// Begins a response that is pushed: the head is queued. function: the name of that of skua.h that was
// called.
skua_status stream_begin(skua_request *r, const char *function, int status, const char *type,
                         int64_t length, skua_drained_fn *drained, void *user);

// Tells the handler, from the loop, that there is room again, if it waits for that.
void stream_drain(skua_request *r);

// Whether it may be quiet for long: an event stream or a tunnel.
static inline bool stream_idles(const skua_request *r)
{
    return r->responding == RESPONSE_PUSHED && r->push >= PUSH_EVENTS;
}

// ---- Tunnels ----

// The peer's half of a tunnel has ended and every octet of it been read.
void tunnel_end_input(skua_request *r);

// Our half ends when what is queued has left; the rest of it goes on while somebody reads.
// Errors: SKUA_ESTATE it has been ended.
skua_status tunnel_finish(skua_request *r);

// Takes the handler's wish to close our half. Returns whether there was one: true once.
bool tunnel_close_half(skua_request *r);

#endif
