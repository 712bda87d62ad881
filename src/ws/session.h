// SPDX-License-Identifier: MIT
//
// Session: one WebSocket, on the tunnel of the request that asked for it. What comes goes to the
// program message by message; closings, pings and deadlines are its own.
// Invariant: a session that is not WS_CLOSED is in its worker's list, and its handle is good. One that
// is, is freed when nobody is inside.
#ifndef SKUA_WS_SESSION_H
#define SKUA_WS_SESSION_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/request.h"
#include "ws/endpoint.h"
#include "ws/slot.h"

typedef enum ws_state {
    WS_OPEN,
    WS_CLOSING, // our close has been asked for, and the peer's has not come
    WS_CLOSED   // the program has been told
} ws_state;

typedef struct ws_letter ws_letter;

struct ws_session {
    ws_session *next, *previous; // of the worker
    skua_request *request;
    const ws_endpoint *endpoint;
    ws_slot *slot;
    skua_socket socket;
    slice protocol;
    unsigned inside;      // calls that use it
    uint8_t state;        // ws_state
    bool close_is_queued; // in WS_CLOSING: not as long as messages wait for room
    bool is_refused;      // the program is to be told when there is room
    skua_timer timer;
    int64_t heard_ns, pinged_ns, close_by_ns;
    int64_t rate_from_ns; // frames are counted for a second from then
    unsigned rate_count;
    ws_letter *waiting, *waiting_last; // messages of other threads
    uint64_t messages_in, octets_in, messages_out, octets_out;
    char *message; // what has come of a message in more than one piece
    size_t message_len, message_room;
    ws_reader reader;
    char reason[WS_CONTROL_OCTETS_MAX]; // payload of our close
    uint8_t reason_len;
};

// Around everything that uses a session: callbacks may close it. The last to leave a closed one frees
// it.
static inline void ws_session_enter(ws_session *s)
{
    s->inside++;
}
void ws_session_leave(ws_session *s);

// Begins the session of a request that has just become a tunnel. s: zeroed, counted memory; given. slot:
// taken, and given.
void ws_session_begin(ws_session *s, skua_request *r, const ws_endpoint *endpoint, ws_slot *slot);

// Begins to close an open socket. reason: UTF-8.
void ws_session_close(ws_session *s, uint16_t code, slice reason);

// There is room in the queue again: skua_drained_fn.
void ws_session_drained(skua_request *r, void *user);

// The server stops: every socket is closed, code 1001.
void ws_session_close_all(skua_worker *w);

#endif
#endif
