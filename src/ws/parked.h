// SPDX-License-Identifier: MIT
//
// Parked: a socket with nothing under way, whose session and request have been given back. What is left is this
// record. Its handle stays good: whoever uses it, octets of the client's and a deadline make a session of it again.
// Invariant: a slot that is open has a session, or a parked socket.
#ifndef SKUA_WS_PARKED_H
#define SKUA_WS_PARKED_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/memo.h"
#include "ws/session.h"

struct ws_parked {
    pool_item item; // first: it lies in the worker's pool
    union {
        io_stream *stream; // of its connection
        carrier *carrier;  // is_carried: of its stream, which stays
    } on;
    ws_slot *slot;
    const ws_endpoint *endpoint;
    ws_deflate *deflate;
    struct topic_seat *topics; // that it has joined
    request_memo memo;
    int64_t heard_ns, pinged_ns, rate_from_ns;
    int64_t ends_ns; // is_closing: when the peer's close is not waited for any more
    uint32_t rate_count;
    uint16_t protocol_at; // within the desc's protocols
    uint8_t protocol_len;
    bool is_closing : 1; // our close has left
    bool is_carried : 1;
};

// Parks the socket whose request that is, if nothing of it is under way and its route does not keep the request.
// Session and request are given back then.
// Returns: NULL: it goes on as it is; else its caller sets what it is on.
ws_parked *ws_park(skua_request *r);

// When there will be something to do; INT64_MAX: never.
int64_t ws_parked_due_ns(const ws_parked *p);

// Makes a session of it again. r: the request of its memo, whose numbers are counts.
// Returns: false when memory ran out; it is parked still.
bool ws_unpark(ws_parked *p, skua_request *r, const uint64_t counts[MEMO_COUNTS]);

// A parked socket whose close was not answered has been woken at its deadline: the program is told that it is closed.
void ws_unparked_give_up(skua_request *r);

// There is no memory to make a session of it: the program is told that the socket is closed, and it is freed.
void ws_parked_lose(ws_parked *p, skua_worker *w);

// There is no memory for what the client has sent: the socket of that request is closed, code 1013.
void ws_unparked_shed(skua_request *r);

// The worker's pool of them: begins it, ends it when nobody is parked, and frees what of it has not been used since the
// last sweep.
void ws_parked_open(skua_worker *w);
void ws_parked_close(skua_worker *w);
size_t ws_parked_sweep(skua_worker *w);

// Looks for sockets that have been idle since the last look, and lets them be parked.
// Returns: whether there are any that may be some day.
bool ws_sessions_rest(skua_worker *w);

#endif
#endif
