// SPDX-License-Identifier: MIT
//
// The parts of the server of sockets have this in common.
#ifndef TESTS_SERVERS_SOCKETS_H
#define TESTS_SERVERS_SOCKETS_H

#include <skua/skua.h>

enum { PIECE = 10000 }; // octets of a message to a slow reader

// skua_websocket_desc.message: sends it back.
void echo_message(skua_socket socket, skua_slice message, bool text, void *user);

// GET /closes tells of it from then on.  Thread: any.
void tell_close_of(skua_slice path, unsigned code, skua_slice reason);

// Routes to blocking functions.
void route_blocking(skua_server *server);

#endif
