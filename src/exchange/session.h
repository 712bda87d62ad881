// SPDX-License-Identifier: MIT
//
// Session: a protocol at work on one connection. An idle connection has none. A protocol is a table
// of functions that the connection calls; the protocol's own struct begins with a session, and
// nobody else looks at what follows it.
#ifndef SKUA_EXCHANGE_SESSION_H
#define SKUA_EXCHANGE_SESSION_H

#include "http/fault.h"
#include "io/io.h"
#include "net/transport.h"

typedef struct session session;
typedef struct protocol_table protocol_table;

// The octets that a peer may have taken in advance, as its kernel makes room in steps. It may rest
// for as long as they last at the minimum rate: see docs/limits.md.
enum { SESSION_CREDIT_MAX = 65536 };

// The connection, which outlives the session, as the session knows it.
typedef struct session_link {
    io_stream *stream;
    io_address *peer;
    const bool *peer_is_done;   // it has said that it sends no more
    const transport *transport; // NULL: the octets are in the clear
} session_link;

// Counts of the octets that move on the connection, both ways, while its peer is waited for.
typedef struct session_progress {
    uint64_t watched_moved; // moved when the watch began
    // Octets that had reached the peer at the last look, and when the rate's window began.
    uint64_t looked_gone, window_gone;
    int64_t still_ns, window_ns; // since when nothing moved, and when the window began
    int64_t looked_ns;           // the last look
    uint32_t credit;             // octets that were taken at once after a standstill
    bool looked;                 // since the watch began
    bool stood;                  // nothing had moved at the last look
} session_progress;

// The members that every request needs come last, where the protocol's own struct goes on: from the link's second half on
// they take 64 octets, a line of the cache.
struct session {
    session_progress progress;
    session_link link;
    out_queue
        *out; // octets for the peer, framed; the protocol may change it where nothing is queued
    const protocol_table *protocol;
    skua_worker *worker;
    uint64_t moved;        // octets on the connection, both ways, since the session began
    int64_t rests_from_ns; // when the last request ended, for SESSION_IDLES
    bool idles;            // nothing is under way, as of the last fate
    // The time to look at handlers has come nearer, or, in HTTP/1, a tunnel may be parked: set by the protocol.
    bool looks_anew;
};

// The future of the connection.
typedef enum session_fate {
    SESSION_GOES_ON,
    SESSION_RESTS,  // nothing is read, answered, kept or queued: the session can be given back
    SESSION_IDLES,  // the same, but it remembers what later octets depend on
    SESSION_ENDS,   // everything has been sent; what the peer sends still is to be drained
    SESSION_CLOSES, // everything has been sent, and the peer sends nothing more
    SESSION_BREAKS, // a response cannot be completed; what was queued before has left
} session_fate;

// The event that the session waits for. It decides what the connection's deadline is for.
typedef enum session_wait {
    SESSION_AWAITS_HEAD,
    SESSION_AWAITS_CONTENT,
    SESSION_AWAITS_HANDLER, // it is to respond
    SESSION_AWAITS_PEER,    // it is to take what is queued
    SESSION_AWAITS_EVENT,   // of an event stream: anything may come, or nothing
} session_wait;

struct protocol_table {
    // Whether look and look_at_handler judge the peer themselves: what it has sent is read before they
    // are called, since the worker may have been busy.
    bool judges;

    // A session, whose link the connection sets; NULL when memory ran out.
    session *(*begin)(skua_worker *w);

    // Ends every request as how says, and gives the session back.
    void (*end)(session *s, skua_end how);

    // Octets came: all are used, kept or, when no request is read any more, dropped.
    // Returns: whether everything is answered, and the responses have only to be sent.
    bool (*received)(session *s, const char *octets, size_t len);

    // Octets came for which this connection is not meant: none is read, and the response to them says
    // the sentence.
    void (*refuse)(session *s, slice octets, fault why, slice sentence);

    // Octets of out have left; there is room for more. Returns: whether an event is awaited as before, and nothing
    // is to be decided.
    bool (*sent)(session *s);

    // A file in out is marked as failed: it cannot be read to its end.
    // Returns: whether out can be sent nevertheless, without it.
    bool (*file_failed)(session *s);

    // Goes on with what waited: fills out with content that is pulled, reads what is kept.
    void (*resume)(session *s);

    // The peer has said that it sends no more, and all it has sent has been received.
    void (*peer_done)(session *s);

    // Whether octets from the peer would be used.
    bool (*wants_input)(const session *s);

    // The peer has been waited for a while: looks at deadlines of its own.
    // Returns: whether the socket is to be read once, if it is not read because there is no memory
    // for content that has to be kept.
    bool (*look)(session *s);

    // The connection has been idle for too long, or the server stops: takes leave.
    void (*retire)(session *s);

    // Decides what becomes of the connection after anything has happened. Ends a request whose
    // message the peer will not complete, or that waits for time in the name of a client that has
    // left.
    session_fate (*fate)(session *s);

    // Whether out holds the last octets of the connection.
    bool (*sends_last)(const session *s);

    // Takes the wish to close our half behind what is queued: true once.
    bool (*close_half)(session *s);

    session_wait (*awaits)(const session *s);

    // Whether it is not the peer that decides how fast octets move: it is not judged by their rate.
    bool (*is_paced)(const session *s);

    // While a handler or an event is awaited: when to ask this again, from now; 0: never; negative:
    // nothing has been heard for too long.
    int64_t (*look_at_handler)(session *s);

    // Memory that it holds, while a head is awaited.
    size_t (*octets)(const session *s);

    // The time for what is awaited is over: responds 408 or 503 where there is still somebody to
    // tell.
    // Returns: false if a response that has begun will not be completed.
    bool (*timed_out)(session *s);
};

// Begins to watch the progress of the connection: its peer is waited for from here on.
void session_watch(session *s);

// How often that is looked at.
int64_t session_look_ns(const skua_worker *w);

// The octets that a peer must take in that time, at the minimum rate.
uint64_t session_owed(const skua_worker *w, int64_t ns);

// Looks at what has moved since. Returns whether the peer is too slow: nothing moved for
// stall_timeout_ns, or something, but less than the minimum rate over its window.
bool session_look(session *s);

// The client's address; asked for where it is not known yet.
const io_address *session_peer(const session *s);

#endif
