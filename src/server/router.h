// SPDX-License-Identifier: MIT
//
// Router: patterns in a tree of segments. Finding costs the length of the path, not the number of routes.
// Filled before the server starts, read by every worker afterwards.
#ifndef SKUA_SERVER_ROUTER_H
#define SKUA_SERVER_ROUTER_H

#include "base/slice.h"

enum { ROUTE_PARAMS_MAX = 16, ROUTE_METHODS_MAX = 64 };

typedef struct route {
    slice pattern; // as registered
    slice method;  // {NULL, 0}: every method
    skua_handler *handler;
    void *user;
    unsigned param_count;
    slice params[ROUTE_PARAMS_MAX]; // names, in order
} route;

typedef struct router router;

router *router_new(void);
void router_free(router *r);

// Adds a pattern in the form of skua_route. The route is copied into the router.
// Errors: SKUA_EINVAL, SKUA_EEXIST, SKUA_ENOMEM; why, room octets, then holds a sentence that names the pattern(s).
skua_status router_add(router *r, slice pattern, skua_handler *handler, void *user, char *why,
                       size_t room);

typedef enum router_outcome { ROUTER_FOUND, ROUTER_NO_PATH, ROUTER_NO_METHOD } router_outcome;

typedef struct router_match {
    const route *route;            // FOUND
    unsigned count;
    slice values[ROUTE_PARAMS_MAX]; // FOUND: what the params matched, inside path
    // NO_METHOD: the methods the path has, as Allow states them ("GET, HEAD, POST"), written to allow
    char allow[256];
    size_t allow_len;
} router_match;

// path: normalised. A GET route matches HEAD too unless a HEAD route is as specific. Only the parts of match that the outcome names are written.
// "%2F" inside a segment is data: router values keep it as it is.
router_outcome router_find(const router *r, slice method, slice path, router_match *match);

// Whether any route takes this method by name or takes every method (for 501 against 405).
bool router_knows_method(const router *r, slice method);

#endif
