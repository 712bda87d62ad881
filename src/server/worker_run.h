// SPDX-License-Identifier: MIT
//
// The life of a worker: opened, turned until it is to end, closed.
#ifndef SKUA_SERVER_WORKER_RUN_H
#define SKUA_SERVER_WORKER_RUN_H

#include "server/worker.h"

// Makes a worker ready to run: memory, loop, wake-up. listeners come with worker_listen.
skua_status worker_open(server_worker *w, skua_server *server, unsigned index,
                        const io_backend *backend);
void worker_close(server_worker *w);

// Ends a worker that has not served and does not listen, in its next turns.
// Thread: any, while no thread runs its loop.
void worker_dismiss(server_worker *w);

// Takes connections from a socket of the server's listener of that number.
void worker_listen(server_worker *w, unsigned number, int fd, const arrival *like);

// Takes what waits there, and no more; closes the socket if it is the worker's own.
void worker_unlisten(server_worker *w, unsigned number);

// Sets where connections that the worker accepts go: to itself, or to the workers that serve.
void worker_share(server_worker *w);

// Tells the program that the worker begins to turn, on the thread that turns it, and that it has
// ended.
void worker_begin(server_worker *w);
void worker_end(server_worker *w);

// One turn; false when the worker has ended.
bool worker_turn(server_worker *w, int64_t timeout_ns);

// Sees to a stop that was asked for; false when the worker has ended.
bool worker_goes_on(server_worker *w);

// How long the next turn will wait if nothing happens; -1: for ever.
int64_t worker_timeout_ns(const server_worker *w);

#endif
