// SPDX-License-Identifier: MIT
//
// Shared messages: one frame that many sockets send.
#ifndef SKUA_WS_SHARED_H
#define SKUA_WS_SHARED_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"

typedef struct ws_shared {
    slice frame; // the message is its payload
    slice message;
    ws_opcode opcode;
    void (*keep)(void *user);    // a queue has taken the frame, without a copy
    void (*release)(void *user); // it has left that queue
    void *user;
} ws_shared;

// The open socket of a request; NULL when it has closed, or the request is no socket's.
ws_session *ws_shared_session(const skua_request *r);

// Sends it, or does with it what is done when the reader is slow. Where the program would have to wait, the
// message does, as far as there is room for letters; then the socket is closed.
void ws_shared_send(ws_session *s, const ws_shared *shared);

#endif
#endif
