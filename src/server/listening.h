// SPDX-License-Identifier: MIT
//
// Listening: the addresses of a server, before its start and while it runs.
#ifndef SKUA_SERVER_LISTENING_H
#define SKUA_SERVER_LISTENING_H

#include "server/server.h"

// Describes one more listener, in the next free place. *made: it is added by server_listener_add.
// Errors: those of skua_listener_add but for what opening can fail with; the sentence is recorded.
skua_status listening_describe(skua_server *server, const skua_listener_desc *desc,
                               server_listener **made);

// Sets how clients are known there. Errors: SKUA_EINVAL, recorded.
skua_status listening_forward(skua_server *server, server_listener *listener,
                              skua_forwarded forwarded);

// The hosts that are served when none are named: by the addresses there are.
host_kind listening_host_kind(const skua_server *server);
host_rule listening_hosts(const skua_server *server, host_kind otherwise);

// Opens the socket of a listener for that worker, or finds the one that there is. *fd: the worker's own if it is not
// that of server->shared_fds.
skua_status listening_open(skua_server *server, unsigned number, unsigned worker, int *fd);

// Lets the worker accept from a socket of the listener.
void listening_accept(server_worker *w, unsigned number, int fd);

#endif
