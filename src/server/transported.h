// SPDX-License-Identifier: MIT
//
// Connections over a transport: the loop's events pass through it on their way to the session, and
// the session's octets on their way to the loop.
#ifndef SKUA_SERVER_TRANSPORTED_H
#define SKUA_SERVER_TRANSPORTED_H

#include "net/transport.h"
#include "server/connection.h"

extern const endpoint_role transported_role;

// Puts a transport under a connection that has just been accepted. It is the connection's from here
// on.
void transported_begin(connection *conn, transport *t);

// Sends what the session has queued; behind it the transport's end, if the session sends its last
// octets or was told to end.
void transported_send(connection *conn);

#ifndef SKUA_NO_WEBSOCKET

// Protects octets where there is no session, and hands them to the kernel at once. *left: how many have left.
// Returns: false: nothing was sent. Octets that have not left may be on the wire: a session is to have them as the
// beginning of its queue.
bool transported_send_now(connection *conn, slice octets, size_t *left);

#endif

// Half-closes behind what is queued. ends: the transport says that this is the end; without that
// the peer knows that something was cut off.
void transported_shutdown(connection *conn, bool ends);

// Nothing is under way on it.
void transported_rest(connection *conn);

// Frees it with the connection.
void transported_give(connection *conn);

// Lets the session know what has left of a flight that will not leave whole.
void transported_part_left(connection *conn);

#endif
