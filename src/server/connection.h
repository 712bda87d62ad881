// SPDX-License-Identifier: MIT
//
// Connection: an endpoint, whose it is, and its deadline. At most 128 octets, since there may be
// very many.
#ifndef SKUA_SERVER_CONNECTION_H
#define SKUA_SERVER_CONNECTION_H

#include "exchange/session.h"
#include "server/endpoint.h"

// The state of a connection. Its deadline depends on it.
typedef enum connection_state {
    CONNECTION_IDLE,      // between requests
    CONNECTION_HANDSHAKE, // the transport is being set up, or a proxy is to name its client
    CONNECTION_HEAD,      // a head has begun
    CONNECTION_CONTENT,   // content is awaited
    CONNECTION_HANDLER,   // a handler is to respond
    CONNECTION_SENDING,   // the peer is to take octets
    CONNECTION_STREAM,    // an event stream or a tunnel: anything may come, or nothing
    CONNECTION_LINGER,    // our half is closed; the rest is drained
    CONNECTION_CLOSED     // close is under way
} connection_state;

typedef struct skua_connection connection;

struct skua_connection {
    io_stream stream; // first, as in an endpoint
    io_deadline deadline;
    server_worker *worker;
    session *session; // NULL while idle
    io_address peer;
    uint8_t state;    // connection_state
    uint8_t looks;    // how often the deadline was put off for input that waits
    uint16_t id_high; // its number among the worker's connections
    uint32_t id_low;
    // Facts that come to be, and stay.
    bool half_closed;       // the peer has said that it sends no more, or is about to
    bool has_tail : 1;      // it lingers until the peer has what the kernel holds
    bool has_transport : 1; // which stream.out belongs to: see transported.h
    bool peer_ended : 1;    // by the transport's own end
    bool fin_came : 1;      // while it lingers
    bool shuts : 1;         // our half is to be closed behind what is queued
    bool ends : 1;          // by the transport's own end, before
    bool speaks_h2 : 1;     // as the transport has agreed
    uint8_t early : 2;      // octets that have come of what may be the preface of HTTP/2
    bool is_parked : 1;     // it has no session, but a WebSocket: see parking.h
    // While lingering: octets drained; octets that the peer had not taken at the last look; and how
    // many it may leave untaken until it is given up on.
    uint32_t patience;
    union {
        struct {
            uint32_t lingered, untaken;
        };
        struct ws_parked *parked; // if is_parked
    };
    void *object; // the program's; before it knows of the connection, proxied.c's
};

_Static_assert(sizeof(connection) <= 128, "an idle connection costs at most 128 octets");

_Static_assert(offsetof(connection, deadline) == offsetof(endpoint, deadline),
               "a connection is an endpoint");

extern const endpoint_role connection_role;

// Ends it without ceremony; requests end as how says.
void connection_abort(connection *conn, skua_end how);

// Makes the deadline of an idle connection come now: it is read once more and closed.
void connection_retire(connection *conn);

// Ends a connection whose head is still coming: what it holds goes back at once. Responses before
// it may still be on their way, so it lingers.
void connection_end_head(connection *conn);

// Half-closes, drains, closes.
void connection_linger(connection *conn);

// ---- For connection_accept.c and connection_deadline.c ----

// Sets the state, and the deadline that belongs to it.
void connection_enter(connection *conn, connection_state next);

// Sets the deadline to so long from now; 0 or less: none.
void connection_deadline_set(connection *conn, int64_t ns);

// Gives up on a peer that does not take its part: what the kernel has for it is dropped.
void connection_cut(connection *conn);

// Ends it where nobody will complete what the session has begun. The responses before that may still be on their way.
void connection_break_off(connection *conn, skua_end how);

// Begins a session of HTTP/1, as the head has not come in time. Returns: false: memory ran out, and it is closed.
bool connection_activate_late(connection *conn);

// Gives its memory back. It has never been counted as served, or is not any more.
void connection_give(connection *conn);

// ---- For transported.c and proxied.c ----

// Begins to close it, once. There is no session, or its owner drops it.
void connection_close(connection *conn);

// Of its role.
void connection_aborted(endpoint *end);

static inline connection *connection_of(io_stream *stream)
{
    return (connection *)(void *)stream;
}

// The transport is set up: requests may come.
void connection_opened(connection *conn);

// Whether it waits for a request, and nothing is under way.
bool connection_is_idle(const connection *conn);

// Hands octets to the session, which begins with the first.
// Returns: whether everything is answered, and the responses have only to be sent.
bool connection_hand(connection *conn, slice octets);

// Responds with a fault, and a sentence about it, to octets that the session does not read.
void connection_refuse(connection *conn, slice octets, fault why, slice sentence);

// After anything has happened: sends, reads or not, waits for the right thing.
void connection_settle(connection *conn);

// Counts octets that came while it lingers.
void connection_drain(connection *conn, size_t len);

// Nothing more can be sent or read. Responses before may still be on their way.
void connection_fail(connection *conn);

// Begins with a session, or, if that is NULL for want of memory, closes the connection: then false.
bool connection_adopt(connection *conn, session *s);

// Whether its socket was parked, and it has a session again.
bool connection_unpark(connection *conn);

// The stream is closed.
void connection_closed(io_stream *stream);

// The same, of one that the program does not know of.
void connection_forget(connection *conn);

// The peer; until the connection is closed.
const io_address *connection_peer(connection *conn);

#endif
