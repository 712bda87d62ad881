// SPDX-License-Identifier: MIT
//
// A frame that many sockets send.
#ifndef SKUA_WS_SHARED_FRAME_H
#define SKUA_WS_SHARED_FRAME_H
#ifndef SKUA_NO_WEBSOCKET

#include "http/ws_frame.h"

typedef struct ws_shared {
    slice frame;
    slice payload; // of the frame: the message, or what it was compressed to
    slice message;
    ws_opcode opcode;            // with WS_COMPRESSED where the payload is
    void (*keep)(void *user);    // a queue has taken the frame, without a copy
    void (*release)(void *user); // it has left that queue
    void *user;
} ws_shared;

#endif
#endif
