// SPDX-License-Identifier: MIT
//
// The beginning of connections: a socket that was accepted becomes one, unless there is no room, or the program refuses it.
#ifndef SKUA_SERVER_CONNECTION_ACCEPT_H
#define SKUA_SERVER_CONNECTION_ACCEPT_H

#include "server/connection.h"

// Adopts an accepted socket; refuses it when memory or connections_max ran out, or on_connect says
// so.
void connection_accepted(server_worker *w, const arrival *came);

// ---- For proxied.c ----

// Asks the program whether it wants the connection.
bool connection_welcome(connection *conn);

// Waits for requests, or for TLS if secure.
// Returns: false when memory ran out.
bool connection_begin(connection *conn, bool secure);

#endif
