// SPDX-License-Identifier: MIT
//
// Shared messages: one frame that many sockets send.
#ifndef SKUA_WS_SHARED_H
#define SKUA_WS_SHARED_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"
#include "ws/shared_frame.h"

// The open socket of a request; NULL when it has closed, or the request is no socket's.
ws_session *ws_shared_session(const skua_request *r);

// The window by which a message of that length is compressed for this socket and others like it; 0: it is not, or
// by the socket's own stream.
unsigned ws_shared_bits(const ws_session *s, size_t octets);

// Sends it, or does with it what is done when the reader is slow. Where the program would have to wait, the
// message does, as far as there is room for letters; then the socket is closed.
// Returns: how many octets were compressed for this reader alone.
size_t ws_shared_send(ws_session *s, const ws_shared *shared);

#endif
#endif
