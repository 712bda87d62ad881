// SPDX-License-Identifier: MIT
//
// TLS of a server: the context that its configuration describes, and the part of each worker.
// Without SKUA_TLS, a configuration that asks for it is refused.
#ifndef SKUA_SERVER_SECURE_H
#define SKUA_SERVER_SECURE_H

#include "net/transport.h"
#include "server/server.h"

// Reads the configuration's tls, if it says anything. The strings in it are the caller's, and are not
// looked at later. A failure is recorded for the start.
// Returns: false when memory ran out.
bool secure_configure(skua_server *server);
void secure_free(skua_server *server);

// Fails as the configuration did.
skua_status secure_check(skua_server *server);

// Makes the worker's part, if the server speaks TLS.
// Errors: SKUA_ENOMEM.
skua_status secure_open_worker(server_worker *w);
// Gives the worker the present certificates, under the lock, which no reload passes. Errors: SKUA_ENOMEM.
skua_status secure_equip(server_worker *w);
void secure_lock(skua_server *server);
void secure_unlock(skua_server *server);
void secure_close_worker(server_worker *w);

// Gives workers what a reload has changed between their opening and the gate's (server->running).
// Errors: SKUA_ENOMEM.
skua_status secure_catch_up(skua_server *server);

// The server's side of a connection; NULL when memory ran out.
transport *secure_accept(server_worker *w);

// Frees memory that has not been used of late.
// Returns: octets that were freed.
size_t secure_sweep(server_worker *w);

// Frees what is kept for connections that have something under way.
void secure_rest(server_worker *w);

#endif
