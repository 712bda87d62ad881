// SPDX-License-Identifier: MIT
//
// Parking: a connection whose tunnel is a WebSocket with nothing under way keeps a record of it in
// place of its session. It begins a session again when octets arrive, when its deadline passes, or
// when the socket is used.
#ifndef SKUA_SERVER_PARKING_H
#define SKUA_SERVER_PARKING_H

#include "server/worker.h"

#ifndef SKUA_NO_WEBSOCKET

// The server stops: closes those that are parked, code 1001, or makes sessions of them, which are to be closed.
void parking_stop(server_worker *w);

// Lets sockets be parked that have been idle, and frees the sessions of those that were.
void parking_look(server_worker *w);

#endif

// The memory and the table of a worker.
void parking_open(server_worker *w);
void parking_close(server_worker *w);

#endif
