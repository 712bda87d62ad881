// SPDX-License-Identifier: MIT
//
// Stops: requested by the program, or caused by a worker that cannot go on.
#ifndef SKUA_SERVER_STOP_H
#define SKUA_SERVER_STOP_H

#include "server/server.h"

// The grace that says to drain, and not to stop.
#define STOP_NEVER INT64_MAX

// Whether skua_stop was called for this run, or since the last one that failed to start.
bool server_is_to_stop(const skua_server *server);
void server_forget_stop(skua_server *server);

// Wakes every worker, so that it looks whether it is to end.
void server_wake(skua_server *server);

// A worker cannot go on: logs why and stops the server, as half of one would leave some clients
// without a response.
// Thread: any worker's.
void server_break(skua_server *server, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
