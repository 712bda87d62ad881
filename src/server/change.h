// SPDX-License-Identifier: MIT
//
// Changes of a running server: its listeners, and the number of workers that serve. One change is
// made at a time. Each worker applies it on its own thread when it gets a letter, and the thread
// that makes the change waits until all have. So no thread reads what another one writes, and
// requests pay nothing.
#ifndef SKUA_SERVER_CHANGE_H
#define SKUA_SERVER_CHANGE_H

#include "server/server.h"

void change_deinit(skua_server *server);

// The server's workers can follow from here on; none is to be begun any more.
void change_allow(skua_server *server);
void change_forbid(skua_server *server);

// The end of a run: before the workers are closed, and when they have been.
void change_workers_go(skua_server *server);
void change_ended(skua_server *server);

// Stops the process on a worker's thread, which would wait for itself; begins a change, if the server runs.
// Returns: whether it does. The change is ended by change_end either way.
bool change_begin(skua_server *server, const char *function);
void change_end(skua_server *server);

// Calls heard on every worker, and waits until each has called change_followed; in a server that the caller turns,
// heard is called at once, and may follow later.
// Returns: whether worker 0 was told, and so is not about to end.
bool change_tell(skua_server *server, server_change_fn *heard);

// The worker has done what the change wanted of it.  Thread: the worker's.
void change_followed(server_worker *w);

#endif
