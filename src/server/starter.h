// SPDX-License-Identifier: MIT
//
// Starter: which thread may start, wait for and free a server.
#ifndef SKUA_SERVER_STARTER_H
#define SKUA_SERVER_STARTER_H

#include "server/server.h"

// Stop the process while the server is being freed; in a callback of the server; in one, and, if it
// is started, on another thread than the one that has started it. function: that of skua.h.
void server_expect_alive(const skua_server *server, const char *function);
void server_expect_outside(const skua_server *server, const char *function);
void server_expect_no_worker(const skua_server *server, const char *function);
void server_expect_starter(const skua_server *server, const char *function);

// The server counts as started from here on, by this thread.
void server_is_started(skua_server *server);

#endif
