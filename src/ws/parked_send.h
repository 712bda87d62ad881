// SPDX-License-Identifier: MIT
//
// Sending to parked sockets without waking them, where the kernel takes all of it: else a program that sends to
// thousands in one turn would make as many sessions at once.
#ifndef SKUA_WS_PARKED_SEND_H
#define SKUA_WS_PARKED_SEND_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/parked.h"

// So many sockets are woken in a turn to be sent something, so that what they are sent leaves together.
enum { WS_WOKEN_MAX = 256 };

typedef enum ws_parked_sent {
    WS_PARKED_UNSENT, // nothing was sent
    WS_PARKED_SENT,
    WS_PARKED_LOST, // a part was sent, and there is no memory for the rest: the connection is closed
} ws_parked_sent;

// Sends a message to the socket of that slot if it is parked on a stream, or if many have been woken in this turn.
// Returns: WS_PARKED_UNSENT: it is not, or is to be woken.
ws_parked_sent ws_parked_send(const ws_slot *slot, ws_opcode opcode, slice message);

// For parking_table.deliver. A message to one that closes is dropped.
bool ws_parked_deliver(ws_slot *slot, int opcode, slice message);

// Closes a parked socket and leaves it parked: our close has left, and p->ends_ns is when the peer's is not waited for
// any more. Its caller tells the program that this side closes it. Where the kernel takes it only in part, a session sends
// the rest, and tells the program; without memory for that the connection is lost.
// Returns: false: nothing was done: it closes already, or is to be given a session and to be closed by that.
bool ws_parked_send_close(ws_parked *p, uint16_t code, slice reason);

// The same, where the program is told at once, for the final stop: code 1001; and for parking_table.close, where one that
// closes is left as it is.
bool ws_parked_go_away(ws_parked *p);
bool ws_parked_take_close(ws_slot *slot, uint16_t code, slice reason);

#endif
#endif
