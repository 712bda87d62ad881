// SPDX-License-Identifier: MIT
//
// Life of sessions: how one begins, is parked, goes on, and is closed when the server stops.
#ifndef SKUA_WS_LIFE_H
#define SKUA_WS_LIFE_H
#ifndef SKUA_NO_WEBSOCKET

#include "ws/session.h"

// Begins the session of a request that has just become a tunnel. s: zeroed, counted memory; given. slot:
// taken, and given.
void ws_session_begin(ws_session *s, skua_request *r, const ws_endpoint *endpoint, ws_slot *slot);

// Goes on with a socket that was parked, in a session that is set as it was; it is s now. r: its request, made anew.
void ws_session_go_on(ws_session *s, skua_request *r);

// The socket is parked, and its request has been given back: frees the session.
void ws_session_put_away(ws_session *s);

// The server stops: every socket is closed, code 1001.
void ws_session_close_all(skua_worker *w);

#endif
#endif
