// SPDX-License-Identifier: MIT
//
// Piece: octets of a message that the program takes as they come.
#ifndef SKUA_WS_PIECE_H
#define SKUA_WS_PIECE_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"

// The head of one of its frames has come.
void ws_on_piece_frame(ws_session *s);

// Octets of it lie in *input, which is moved past those that were taken. room: WS_DIRECT_OCTETS.
void ws_on_piece(ws_session *s, slice *input, char *room);

// It has ended.
void ws_on_last_piece(ws_session *s);

// Tells the program, as long as the socket is open.
void ws_tell_piece(ws_session *s, skua_message_event event, slice octets);

// Whether a compressed message comes, for which the worker's stream is held. The socket has agreed on compression.
bool ws_holds_piece(const ws_session *s);

// Whether the program has not given back as much of what was inflated as it may keep.
bool ws_owes_much(const ws_session *s);

#endif
#endif
