// SPDX-License-Identifier: MIT
//
// Letters: messages and closes that other threads bring to a socket's worker, and what that is to tell the program later.
#ifndef SKUA_WS_LETTER_H
#define SKUA_WS_LETTER_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"
#include "ws/shared_frame.h"

// Brings a message, or a close with its code, to the socket of that slot and word.
// Errors: those of skua_socket_text.  Thread: any.
skua_status ws_letter_send(ws_slot *slot, uint64_t word, ws_opcode opcode, uint16_t code,
                           slice octets);

// Tells the program in a later turn that this side has begun to close the socket of that slot and word, which this
// worker has, unless that has closed by then. endpoint: the socket's.
// Returns: NULL: there is no memory for it, or another thread is closing the socket.
ws_letter *ws_letter_tell_closing(ws_slot *slot, uint64_t word, const ws_endpoint *endpoint,
                                  uint16_t code, slice reason);

// It is told otherwise.
void ws_letter_void(ws_letter *l);

// Brings a message, or fails with SKUA_ELIMIT and does nothing about a slow reader.  Thread: any.
skua_status ws_letter_try(ws_slot *slot, uint64_t word, ws_opcode opcode, slice octets);

// Lets a message of the worker's own wait for room, as one of another thread does. When there is none for it
// either, the socket is closed: its reader is too slow.
void ws_letter_keep(ws_session *s, const ws_shared *shared);

// Sends the messages that wait, as far as there is room.
// Returns: whether none waits for room.
bool ws_letters_flush(ws_session *s);

// Drops the messages that wait.
void ws_letters_drop(ws_session *s);

#endif
#endif
