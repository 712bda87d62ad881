// SPDX-License-Identifier: MIT
//
// Outgoing: a message that the program sends piece by piece, one frame for each.
// Invariant: while one is open no other message is queued; those of other threads wait as letters.
#ifndef SKUA_WS_OUTGOING_H
#define SKUA_WS_OUTGOING_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"

// Those of skua.h, for an open socket.
skua_status ws_outgoing_begin(ws_session *s, bool text);
skua_status ws_outgoing_write(ws_session *s, slice octets);
skua_status ws_outgoing_end(ws_session *s);

#endif
#endif
