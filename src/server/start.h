// SPDX-License-Identifier: MIT
//
// The life of a server: started, waited for, ended, freed.
#ifndef SKUA_SERVER_START_H
#define SKUA_SERVER_START_H

#include "server/server.h"

// The workers that a start is to make.
typedef struct server_need {
    unsigned workers;
    bool is_turned; // the caller turns the one worker
    bool is_run;    // the calling thread turns worker 0, where the backend lets any thread do so
} server_need;

// Listens and makes the workers ready. Their threads wait to be told to serve.
skua_status server_prepare(skua_server *server, server_need need);

// Waits until every worker has ended, and ends the server. Does nothing if it is not started.
skua_status server_wait(skua_server *server);

// Every worker has ended: closes them, the listeners and the log.
// Errors: SKUA_EIO it has ended by server_break; the reason is recorded for skua_server_error.
skua_status server_end(skua_server *server);

// The simulated kernel's way in: starts one worker on the calling thread, over backend, without
// sockets. kernel becomes loop.kernel, listener the descriptor that connections come from. Ended by
// skua_stop, server_sim_turn and skua_server_free.
skua_status server_start_on(skua_server *server, const io_backend *backend, void *kernel,
                            int listener);

#endif
