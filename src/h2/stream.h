// SPDX-License-Identifier: MIT
//
// Stream of HTTP/2, RFC 9113 §5: it carries one request and its response. A slot lives until its
// request has ended.
#ifndef SKUA_H2_STREAM_H
#define SKUA_H2_STREAM_H

#ifndef SKUA_NO_HTTP2

#include "exchange/carrier.h"
#include "exchange/request.h"
#include "http/h2_frame.h"

typedef struct h2_session h2_session;
typedef struct h2_stream h2_stream;
typedef struct h2_backlog h2_backlog;

enum { H2_URGENCY_DEFAULT = 3 };

// RFC 9218 §4.
typedef struct h2_priority {
    uint8_t urgency; // 0 is the most urgent
    bool incremental;
} h2_priority;

// Which half of a stream still sends.
typedef enum h2_half {
    H2_HALF_OPEN,
    H2_HALF_ENDED, // END_STREAM has come, or is queued
    H2_HALF_RESET  // and nothing of this half is of any interest
} h2_half;

struct h2_stream {
    carrier carrier;      // first; its current is the request until it leaves
    h2_stream *by_number; // in a bucket; or free
    h2_stream *ready_next, *ready_before;
    h2_stream *next_kicked;
    h2_stream *next_leaving;
    skua_request *leaving; // answered: the request whose last octets are still queued
    h2_backlog *backlog;   // content that is to be framed; NULL: none
    char *in;              // content that nobody has taken yet
    uint32_t in_len, in_room;
    uint64_t content_left;   // of HEAD_CONTENT_LENGTH
    uint64_t content_framed; // octets of the response's content in frames
    int64_t moved_ns;        // when it got on last: content came, or was framed
    int64_t rate_ns;         // when the window began in which its rate is judged; 0: it is not
    uint32_t rate_octets;    // that moved in it
    int32_t send_window; // octets that may be sent; negative after the client has changed its mind
    int32_t recv_window; // that the client has left
    char *text;          // the head of a request that waits for its handler; NULL: it does not
    int64_t begins_ns;   // not before
    struct ws_parked
        *parked;            // the WebSocket of its tunnel, without a request meanwhile; NULL: none
    skua_request *occupant; // ended, and still held by somebody; NULL: none
    char *piece;            // that a source or a handler writes
    uint32_t window;        // octets that recv_window may be at most
    // Of extended CONNECT, in the head's octets; no octets: it is none.
    uint16_t protocol, protocol_len;
    uint8_t urgency;    // 0 is the most urgent
    uint8_t peer, self; // h2_half
    bool incremental : 1;
    bool is_ready : 1;
    bool is_kicked : 1;
    bool finished : 1;   // the response's content is complete: END_STREAM follows its last octet
    bool trailers : 1;   // and stands with them
    bool staged : 1;     // the piece is written to the staging block
    bool backlogged : 1; // or to the backlog
    bool counted : 1;    // among the open streams
    bool lingers : 1;    // only for its occupant
};

_Static_assert(sizeof(h2_stream) <= 400, "a stream's slot costs at most 400 octets");

static inline h2_stream *h2_stream_of(carrier *c)
{
    return (h2_stream *)(void *)c;
}

static inline const h2_stream *h2_stream_of_const(const carrier *c)
{
    return (const h2_stream *)(const void *)c;
}

// The session that a stream belongs to.
h2_session *h2_stream_session(const h2_stream *stream);

// The stream of that number; NULL: there is none.
h2_stream *h2_stream_find(const h2_session *s, uint32_t number);

// A new stream, with an empty carrier; NULL when memory ran out. window: that its client has.
h2_stream *h2_stream_open(h2_session *s, uint32_t number, const carrier_table *table,
                          uint32_t window);

// Begins its request, whose head is complete and in text.
void h2_stream_begin(h2_stream *stream, const char *text);

// Around everything that calls handlers: what they answer needs no kick.
void h2_stream_enter(h2_stream *stream);
void h2_stream_exit(h2_stream *stream);

// Asks the loop to go on with it.
void h2_stream_kick(h2_stream *stream);

// It is not open any more, as the protocol counts.
void h2_stream_uncount(h2_stream *stream);

// Gives back content that is kept.
void h2_stream_forget_content(h2_stream *stream);

// It does not wait for its handler to begin any more.
void h2_stream_stop_waiting(h2_stream *stream);

// Its slot is kept only for whoever holds its request.
void h2_stream_linger(h2_stream *stream);

// Its request has ended and is held by somebody; and is not held any more. See carrier_table.
void h2_stream_occupy(skua_request *r);
void h2_stream_vacate(carrier *c);

// END_STREAM is queued.
void h2_stream_close_self(h2_stream *stream);

// Counts octets of content that have moved, either way.
void h2_stream_moved(h2_stream *stream, size_t octets);

// Its request has left and ended: frees the slot.
void h2_stream_free(h2_stream *stream);

// Frees the slots that are kept for the next streams.
void h2_stream_free_all(skua_worker *w);
size_t h2_stream_sweep(skua_worker *w);

#endif
#endif
