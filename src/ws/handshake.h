// SPDX-License-Identifier: MIT
//
// The opening handshake: whether a request becomes a WebSocket.
#ifndef SKUA_WS_HANDSHAKE_H
#define SKUA_WS_HANDSHAKE_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/request.h"

// The handler of a route of sockets. user: its ws_endpoint.
void ws_handshake(skua_request *r, void *user);

#endif
#endif
