// SPDX-License-Identifier: MIT
//
// Streams of DEFLATE for messages, by zlib, where it is built in: one that deflates, and one that inflates.
#ifndef SKUA_WS_ZSTREAM_H
#define SKUA_WS_ZSTREAM_H

#include "base/budget.h"
#include "base/slice.h"

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

typedef struct ws_deflater ws_deflater;
typedef struct ws_inflater ws_inflater;

// bits: base-2 logarithm of the window.  Returns: NULL when memory ran out.
ws_deflater *ws_deflater_open(lease *memory, unsigned bits);
void ws_deflater_close(ws_deflater *d); // NULL is allowed

// Forgets what it has compressed, so that the next message stands by itself.
void ws_deflater_reset(ws_deflater *d);

// Compresses a message that is not empty. out: room for its length and WS_ZSTREAM_TAIL_OCTETS more.
// Returns: false when it does not get shorter: then all is forgotten, and the message is to be sent as it is.
bool ws_deflater_run(ws_deflater *d, slice message, char *out, size_t *octets);

// How many octets ws_zstream_store writes at most.
static inline size_t ws_zstream_stored_octets(size_t len)
{
    return len + (len / 65535 + 1) * 5;
}

// Writes octets as blocks of DEFLATE that are not compressed. Returns: how many octets those have.
size_t ws_zstream_store(slice octets, char *out);

enum { WS_ZSTREAM_TAIL_OCTETS = 4 }; // left out at the end of each message, RFC 7692 §7.2.1

// The result of inflating.
typedef enum ws_inflated {
    WS_INFLATED_ALL,  // the input is used up, and nothing is left to be written
    WS_INFLATED_MORE, // to be called again, with more room
    WS_INFLATED_BAD,  // this is no DEFLATE
    WS_INFLATED_LACKS // memory ran out
} ws_inflated;

// bits: of the largest window that the peer may use.  Returns: NULL when memory ran out.
ws_inflater *ws_inflater_open(lease *memory, unsigned bits);
void ws_inflater_close(ws_inflater *i); // NULL is allowed
void ws_inflater_reset(ws_inflater *i);

// Inflates octets of a message. *input is moved past what was used. room: at least 1. *octets: how many were
// written.
ws_inflated ws_inflater_run(ws_inflater *i, slice *input, char *out, size_t room, size_t *octets);

// The octets that the peer has left out at the end of a message, to be inflated behind it.
slice ws_inflater_tail(const ws_inflater *i);

// Whether a message can end here: no block has begun that has not ended.
bool ws_inflater_is_whole(const ws_inflater *i);

#endif
#endif
