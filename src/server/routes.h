// SPDX-License-Identifier: MIT
//
// Routes of a server's own, for hosts that are no site's.
#ifndef SKUA_SERVER_ROUTES_H
#define SKUA_SERVER_ROUTES_H

#include "server/server.h"

// Makes the threads of blocking handlers, unless they are there. Returns: false when memory ran out.
bool server_has_threads(skua_server *server);

#endif
