// SPDX-License-Identifier: MIT
//
// A server on one of the backends, turned by the test's own thread: over real sockets, or on the
// simulated kernel.
#ifndef TESTS_SCENARIOS_HOST_H
#define TESTS_SCENARIOS_HOST_H

#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"

typedef struct host {
    skua_server *server;
    sim_kernel *kernel; // NULL: real sockets
    int listener;       // a real socket, or a simulated one
    char address[32];   // of the real one
    bool over;          // the server has ended
} host;

// The ways of the clock while nothing else happens.
typedef enum host_time {
    HOST_TIME_STANDS, // the simulated one does not jump to the next deadline
    HOST_TIME_PASSES,
} host_time;

// Whether this build has such a backend: "sim", or a name that skua_config.backend takes.
bool host_has_backend(const char *backend);

// Starts a server that was made for that backend. sim: of its kernel, on "sim".
// Returns false where this kernel refuses the backend. Anything else that goes wrong stops the
// process.
bool host_start(host *h, skua_server *server, const char *backend, const sim_config *sim);

// One turn, or a millisecond without one. Returns whether there was anything to do.
bool host_turn(host *h, host_time time);

// Work of the server's is with other threads: what happens next is not the loop's.
bool host_has_threads(const host *h);

// Ends the server, which takes what is open with it, and frees it.
void host_end(host *h);

#endif
