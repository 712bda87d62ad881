// SPDX-License-Identifier: MIT
//
// The small servers have in common: --port N --workers N --backend NAME --accept WAY
// --connections-max N --handler-timeout-ms N --grace-ms N, a line when ready, an end at SIGINT or
// SIGTERM, and skua_drain at SIGUSR2.
#ifndef TESTS_SERVERS_OPTIONS_H
#define TESTS_SERVERS_OPTIONS_H

#include <skua/skua.h>

// Reads the options of a server that listens on 127.0.0.1 for any host name. Ends the process with
// 2 when they are not understood, with 1 when memory runs out.
skua_server *server_from_options(int argc, char **argv);

// Reads the options as server_from_options does, over a configuration that is not the default one.
skua_server *server_with_options(const skua_config *defaults, int argc, char **argv);

// Starts the server, says where, waits for a signal, and frees it. Returns the exit status.
int server_serve(skua_server *server, const char *name);

// Serves as server_serve does, and calls begin when the server has started, end when it has
// stopped.
int server_serve_between(skua_server *server, const char *name, void (*begin)(skua_server *server),
                         void (*end)(void));

#endif
