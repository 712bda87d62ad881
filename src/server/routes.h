// SPDX-License-Identifier: MIT
//
// The server's own routes, for hosts without a site.
#ifndef SKUA_SERVER_ROUTES_H
#define SKUA_SERVER_ROUTES_H

#include "server/server.h"

// Makes the threads of blocking handlers, unless they are there. Returns: false when memory ran out.
bool server_has_threads(skua_server *server);

// Stops the process unless what is described can be added. function: that of skua.h that was called.
void route_expect(const skua_route_desc *desc, const char *function);

// A group of the caller's, as one of this library's.
typedef struct group_taken {
    skua_group group;
    void *middleware, *routes; // memory of its own, if it needs some
} group_taken;

// Takes a group for group_drop, or stops the process as route_expect does. Returns: false when memory ran out.
bool group_take(const char *function, const skua_group *given, const skua_sizes *sizes,
                group_taken *taken);
void group_drop(group_taken *taken);

// The place where routes are added, for the function of skua.h that was called, and the sizes that it was told.
typedef struct route_adding {
    void *to; // the server, or the skua_site
    const char *function;
    const skua_sizes *sizes;
} route_adding;

// How the directory of a route is to be served. sizes: for skua_route_directory_sized, of what that points to.
skua_directory_config route_directory(const route_adding *by, const skua_route_desc *desc,
                                      skua_sizes *sizes);

// Whether one of its routes is blocking.
bool group_blocks(const skua_group *group);

#endif
