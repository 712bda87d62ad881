// SPDX-License-Identifier: MIT
//
// Workers on threads of the caller's: the one of a server that a foreign loop turns, and worker 0 of skua_run.
#ifndef SKUA_SERVER_FOREIGN_H
#define SKUA_SERVER_FOREIGN_H

#include "server/server.h"

// Turns a worker that has been made on this thread until it has ended.
void foreign_run(server_worker *w);

// Turns a server that has been opened until it has ended.
void foreign_wait(skua_server *server);

#endif
