// SPDX-License-Identifier: MIT
//
// Call: a socket's blocking function, on a thread of the pool, and the messages that wait for it.
// Invariant: the session knows its call until the socket begins to close; the call lasts until its function
// has returned, and the worker has been told.
#ifndef SKUA_WS_CALL_H
#define SKUA_WS_CALL_H
#ifndef SKUA_NO_WEBSOCKET

#include "http/ws_frame.h"
#include "ws/endpoint.h"
#include "ws/slot.h"

typedef struct ws_call ws_call;

// The functions of a session that its call calls, on the worker.
typedef struct ws_call_hooks {
    void (*has_room)(ws_session *s);     // more may be read for the function
    void (*has_returned)(ws_session *s); // the socket is to be closed
} ws_call_hooks;

// Whether one more may be served so by the server's threads. It is given back when its function has returned.
bool ws_call_reserve(skua_worker *w);
void ws_call_release(skua_worker *w);

// Calls the blocking function on a thread of the pool, which was reserved.
// Returns: NULL when too many wait for one, or memory ran out: the reservation is given back.
ws_call *ws_call_begin(skua_request *r, skua_socket socket, const ws_endpoint *endpoint,
                       const ws_call_hooks *hooks, ws_session *s);

// Brings a message to the function. Returns: false when memory ran out.
bool ws_call_deliver(ws_call *call, slice message, bool text);

// Whether so much waits for the function that nothing more is to be read. If it does, has_room is
// called when there is room again.
bool ws_call_is_full(ws_call *call);

// Octets that the function has sent have been queued, or dropped.
void ws_call_moved(ws_call *call);

// The socket closes: the session is not called any more, and the function is told, behind the messages that wait.
// reason: at most WS_CONTROL_OCTETS_MAX octets.
void ws_call_end(ws_call *call, unsigned code, slice reason);

// ---- On its own thread ----

// The call of the blocking function that runs on this thread for that socket; NULL: none does.
ws_call *ws_call_here(skua_socket socket);

// Brings a message to the worker. Errors: SKUA_ELIMIT there is no room now.
typedef skua_status ws_call_try(ws_slot *slot, uint64_t word, ws_opcode opcode, slice message);

// Attempts to bring a message until there is room for it.
// Errors: SKUA_ECLOSED the socket closes; those of the attempt but SKUA_ELIMIT.
skua_status ws_call_send(ws_call *call, ws_call_try *attempt, ws_slot *slot, uint64_t word,
                         ws_opcode opcode, slice message);

// skua_socket_receive.
skua_status ws_call_receive(ws_call *call, int64_t timeout_ns, skua_message *message);

#endif
#endif
