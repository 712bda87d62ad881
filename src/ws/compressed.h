// SPDX-License-Identifier: MIT
//
// Compressed messages: those that come are inflated into the session's memory, or piece by piece for the program, and those that are sent are
// deflated.
#ifndef SKUA_WS_COMPRESSED_H
#define SKUA_WS_COMPRESSED_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"

// Inflates the payload that lies in *input, and moves that past it. A fault ends the session.
// direct: WS_DIRECT_OCTETS. *whole: what has come of the message, while all of it lies in direct; else none.
void ws_compressed_take(ws_session *s, slice *input, char *direct, slice *whole);

// The same for a program that takes messages piece by piece: it is told what the octets inflate to, as far as the session
// need not pause.
void ws_compressed_piece(ws_session *s, slice *input, char *direct);

// All frames of the message have come.
// Returns: whether it is whole; else the session has ended.
bool ws_compressed_end(ws_session *s, char *direct, slice *whole);

// Queues a message of a socket that has agreed on compression: compressed, unless it is short or does not gain.
// opcode: with WS_COMPRESSED, the message is compressed already.
// Errors: those of ws_send_frame.
skua_status ws_compressed_send(ws_session *s, ws_opcode opcode, slice message);

// The same for a piece of a message that is sent piece by piece; final: for its end, which has no octets.
// Errors: those of ws_send_frame.
skua_status ws_compressed_send_piece(ws_session *s, ws_opcode opcode, bool final, slice piece);

#endif
#endif
