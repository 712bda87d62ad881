// SPDX-License-Identifier: MIT
//
// Session of HTTP/1: requests are read and answered one at a time, in order; those whose last
// octets are still queued wait in leaving. Everything is run by a loop, never by recursion.
#ifndef SKUA_H1_SESSION_H
#define SKUA_H1_SESSION_H

#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/session.h"
#include "http/chunk.h"

#include <stddef.h>

enum { H1_SESSION_SEGMENTS = 48 };

typedef struct h1_session h1_session;

// How far the connection is from its end.
typedef enum h1_session_stage {
    H1_READS,          // requests are read
    H1_CLOSES,         // no more; what the client sends still is to be drained
    H1_CLOSES_DIRECTLY // no more; the client has asked for the close and has sent nothing more
} h1_session_stage;

// The octets that the client still may send, unless stage says that they are to be drained.
typedef enum h1_session_input {
    H1_INPUT_FLOWS,  // they are read as far as they can be used
    H1_INPUT_SLOWED, // they are read once, though there is no memory to keep them
    H1_INPUT_OVER    // FIN: what has been received is all there is
} h1_session_input;

// The members that each response and each message of a WebSocket needs lie together, from H1_SESSION_HOT on: they are not
// in the processor's first cache when octets come.
struct h1_session {
    h1_session *next;         // free
    session base;             // its last 64 octets are needed
    carrier carrier;          // its current is the request that is read or answered
    uint32_t in_len, in_room; // of in
    uint8_t stage;            // h1_session_stage
    uint8_t input;            // h1_session_input
    bool chunked;             // a fact of the response in hand
    // Content that is being written: see carrier_table.reserve.
    bool piece_exact;   // the size is written already
    uint8_t piece_head; // octets before the content
    uint8_t leaving_count;
    out_queue out;                         // octets of responses, framed
    skua_request *leaving, **leaving_tail; // answered, oldest first
    // received and not used yet: a head in part, or what is behind a request that is being answered
    char *in;
    char *piece;           // content that is being written
    uint64_t content_left; // of HEAD_CONTENT_LENGTH
    chunk_decoder chunks;  // of HEAD_CONTENT_STREAMED
    out_segment *segments; // of out; NULL: given back, as nothing has been queued for a while
};

enum { H1_SESSION_HOT = offsetof(h1_session, base.link.peer_is_done) };

_Static_assert(H1_SESSION_HOT % _Alignof(h1_session) == 0, "counted_alloc_lined keeps it aligned");
_Static_assert(offsetof(h1_session, out) <= H1_SESSION_HOT + 128,
               "three lines of the processor's cache");

// Whether nothing more may be queued. Segments that were given back come again with what is.
static inline bool h1_session_queue_is_full(const h1_session *s)
{
    return out_is_full(&s->out) && s->segments;
}

// Octets of a session and of the segments of its queue.
static inline size_t h1_session_octets(const h1_session *s)
{
    return sizeof *s + (s->segments ? H1_SESSION_SEGMENTS * sizeof *s->segments : 0);
}

// Of the carrier's table: gives the segments of the queue back.
bool h1_session_give_segments(carrier *c);

static inline h1_session *h1_session_of(carrier *c)
{
    return (h1_session *)(void *)((char *)c - offsetof(h1_session, carrier));
}

static inline h1_session *h1_session_of_base(session *base)
{
    return (h1_session *)(void *)((char *)base - offsetof(h1_session, base));
}

static inline const h1_session *h1_session_of_const(const session *base)
{
    return (const h1_session *)(const void *)((const char *)base - offsetof(h1_session, base));
}

static inline void h1_session_set_stage(h1_session *s, h1_session_stage next)
{
    SKUA_ASSERT(next != H1_READS);
    SKUA_ASSERT(next == H1_CLOSES || s->stage == H1_READS);
    s->stage = (uint8_t)next;
}

static inline void h1_session_set_input(h1_session *s, h1_session_input next)
{
    SKUA_ASSERT(s->input != H1_INPUT_OVER);
    SKUA_ASSERT(next != H1_INPUT_SLOWED || s->stage == H1_READS);
    s->input = (uint8_t)next;
}

// Members of the protocol's table.
session *h1_session_begin(skua_worker *w);
void h1_session_end(session *base, skua_end how);
bool h1_session_received(session *base, const char *octets, size_t len);
void h1_session_refuse(session *base, slice octets, fault why, slice sentence);
bool h1_session_sent(session *base);
void h1_session_resume(session *base);
void h1_session_peer_done(session *base);
bool h1_session_wants_input(const session *base);
bool h1_session_look(session *base);
void h1_session_retire(session *base);

// Members of the carrier's table.
void h1_session_kick(carrier *c);
void h1_session_send(carrier *c);
bool h1_session_peer_is_done(const carrier *c);

// Whether the session carries a WebSocket for which nothing is to be decided: octets come and go, and
// nothing is kept, held up or about to end.
bool h1_session_flows(const h1_session *s);

// While there is no memory, content that has to be kept waits in the kernel.
bool h1_session_is_slowed(const h1_session *s);

// Ends the requests whose responses have left.
void h1_session_release(h1_session *s);

// The current request has been answered and read to its end, or will not be: it leaves.
void h1_session_let_leave(h1_session *s);

// The peer is done in the middle of a message: ends its request. The responses before it may still
// leave.
void h1_session_cut_off(h1_session *s);

// Forgets what was received and not used.
void h1_session_forget_input(h1_session *s);

// Octets have come that are no progress, if they are a tunnel's and its peer takes nothing.
void h1_session_discount(h1_session *s, const char *octets, size_t len);

// Frees the sessions that are kept for the next connections.
void h1_session_free_all(skua_worker *w);

// Frees those of them that have not been used since the last sweep.
// Returns: octets that were freed.
size_t h1_session_sweep(skua_worker *w);

#endif
