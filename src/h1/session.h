// SPDX-License-Identifier: MIT
//
// Session: HTTP/1 on one connection while it is active. An idle connection has none.
// Requests are read and answered one at a time, in order; those whose last octets are still queued
// wait in leaving. Everything is run by a loop, never by recursion.
#ifndef SKUA_H1_SESSION_H
#define SKUA_H1_SESSION_H

#include "exchange/carrier.h"
#include "exchange/request.h"
#include "http/chunk.h"

enum { SESSION_SEGMENTS = 48 };

// Octets that a reader of the response may have taken in advance: see docs/limits.md.
enum { SESSION_CREDIT_MAX = 65536 };

typedef struct session session;

// What a session knows of its connection, which outlives it.
typedef struct session_link {
    io_stream *stream;
    io_address *peer;
    const bool *peer_is_done; // it has said that it sends no more
} session_link;

struct session {
    carrier carrier; // first: its current is the request that is read or answered
    session *next;   // free
    session_link link;
    skua_worker *worker;
    skua_request *leaving, **leaving_tail; // answered, oldest first
    unsigned leaving_count;
    // received and not used yet: a head in part, or what is behind a request that is being answered
    char *in;
    uint32_t in_len, in_room;
    uint64_t moved;         // octets, both ways
    uint64_t watched_moved; // moved, when the watch began
    // what had reached the peer at the last look, and when the rate's window began
    uint64_t looked_gone, window_gone;
    int64_t still_ns, window_ns; // since when nothing moved, and when the window began
    int64_t looked_ns;           // the last look
    uint32_t credit;             // octets that were taken at once after a standstill
    bool stood;                  // nothing had moved at the last look
    bool closing;                // no request is read any more
    bool direct;                 // the client asked for the close and has sent nothing more
    bool peer_done;              // FIN: what has been received is all there is
    bool looked;                 // since the watch began
    bool chunked;                // the response in hand is
    bool reads_once;             // though there is no memory
    // Content that is being written: see carrier_table.reserve.
    bool piece_exact;   // the size is written already
    uint8_t piece_head; // octets before the content
    char *piece;
    uint64_t content_left;                  // of H1_CONTENT_LENGTH
    chunk_decoder chunks;                   // of H1_CONTENT_CHUNKED
    out_segment segments[SESSION_SEGMENTS]; // of out
};

static inline session *session_of(carrier *c)
{
    return (session *)(void *)c;
}

// NULL when memory ran out.
session *session_take(skua_worker *w, const session_link *link);

// Frees the sessions that are kept for the next connections.
void session_free_all(skua_worker *w);

// Frees those of them that have not been used since the last sweep.
// Returns: octets that were freed.
size_t session_sweep(skua_worker *w);

// What the exchange asks: see carrier_table.
void session_kick(carrier *c);
const io_address *session_peer(carrier *c);
bool session_peer_is_done(const carrier *c);

// Ends every request as how says and gives everything back.
void session_give(session *s, skua_end how);

// Takes octets in; all are used, kept or, once closing, dropped.
void session_received(session *s, const char *octets, size_t len);

// Goes on with what waited: pulls content, reads what is kept.
void session_resume(session *s);

// The peer has said that it sends no more.
void session_peer_done(session *s);

// n octets have left.
void session_sent(session *s);

// The peer is done in the middle of a message: ends its request. The answers before it may still
// leave.
void session_cut_off(session *s);

// Whether octets from the peer would be used.
bool session_wants_input(const session *s);

// There is no memory for content that has to be kept, and the socket is not read: it may be read
// once. Returns false if it is not so.
bool session_read_once(session *s);

// Nothing is read, answered, kept or queued.
bool session_is_idle(const session *s);

// The peer is waited for from here on.
void session_watch_progress(session *s);

// How often that is looked at.
int64_t session_look_ns(const skua_worker *w);

// Looks at what has moved since: nothing for stall_timeout_ns, or something, but less than the
// minimum rate over its window, is too slow.
bool session_is_too_slow(session *s);

// How long nothing has been sent or received, nor written by the handler, since the watch began.
int64_t session_silent_ns(const session *s);

// Answers 408 or 503 when there is still somebody to tell.
void session_timed_out(session *s, int status);

#endif
