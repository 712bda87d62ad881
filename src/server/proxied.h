// SPDX-License-Identifier: MIT
//
// Connections that begin with the header of the PROXY protocol. It is read before anything else,
// before TLS too; then the connection is like all others, with the client that the header names.
#ifndef SKUA_SERVER_PROXIED_H
#define SKUA_SERVER_PROXIED_H

#include "server/connection.h"

extern const endpoint_role proxied_role;

// Whether the peer is trusted to report its client; if not, a line is logged.
bool proxied_is_trusted(connection *conn);

// Waits for the header on a connection that has just been accepted, from a peer that is trusted.
// secure: TLS is spoken behind it.
// Returns: false when memory ran out.
bool proxied_begin(connection *conn, bool secure);

#endif
