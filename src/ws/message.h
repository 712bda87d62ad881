// SPDX-License-Identifier: MIT
//
// Message: what has come of a message, in one piece of memory. While the program is told of it, it can be sent
// from where it lies, by any number of sockets of the worker, behind a head that is written in front of it.
#ifndef SKUA_WS_MESSAGE_H
#define SKUA_WS_MESSAGE_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"
#include "http/ws_frame.h"

enum { WS_MESSAGE_HEAD_OCTETS = 16 };

typedef struct ws_message {
    skua_worker *worker;
    unsigned holders; // the session, and queues that it was lent to
    uint8_t framed;   // ws_opcode of the head; 0: none has been written
    size_t len, room;
    char head[WS_MESSAGE_HEAD_OCTETS]; // a frame's, up to its end
    char octets[];
} ws_message;

_Static_assert((int)WS_MESSAGE_HEAD_OCTETS >= (int)WS_SENT_HEAD_OCTETS_MAX, "a head has room");

// An empty one. said: octets of which a buffer that is kept is taken; room: of what is allocated, where none is.
// NULL when memory ran out.
ws_message *ws_message_new(skua_worker *w, size_t said, size_t room);

// Moves it into memory for so many octets. Nobody else may hold it.
// Returns: false when memory ran out; then it is as it was.
bool ws_message_resize(ws_message **m, size_t room);

// One holder less: the last frees it. It is a release of a queue, too. message: NULL is allowed.
void ws_message_drop(void *message);

// The message that the program is being told of, if the payload is all of it: with one holder more, as a frame.
// Returns: NULL when it is not, or has been framed otherwise.
ws_message *ws_message_frame(skua_worker *w, ws_opcode opcode, slice payload, slice *frame);

#endif
#endif
