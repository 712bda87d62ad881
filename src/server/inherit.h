// SPDX-License-Identifier: MIT
//
// Listening sockets that the program has been given.
#ifndef SKUA_SERVER_INHERIT_H
#define SKUA_SERVER_INHERIT_H

#include "server/server.h"

// Closes the sockets given by skua_listen_fd.
void server_close_given(skua_server *server);

#endif
