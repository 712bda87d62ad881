// SPDX-License-Identifier: MIT
//
// Routes of a server's own, for hosts that are no site's.
#ifndef SKUA_SERVER_ROUTES_H
#define SKUA_SERVER_ROUTES_H

#include "server/server.h"

// Makes the threads of blocking handlers, unless they are there. Returns: false when memory ran out.
bool server_has_threads(skua_server *server);

// Stop the process unless what is described can be added. function: that of skua.h that was called.
void route_expect(const skua_route_desc *desc, const char *function);
void group_expect(const skua_group *group, const char *function);

// How the directory of a route is to be served.
skua_directory_config route_directory(const skua_route_desc *desc);

// Whether one of its routes is blocking.
bool group_blocks(const skua_group *group);

#endif
