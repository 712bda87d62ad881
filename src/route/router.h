// SPDX-License-Identifier: MIT
//
// Router: patterns in a tree of segments for each host. Finding costs the length of the path, not
// the number of routes. Filled before the server starts, read by every worker afterwards.
#ifndef SKUA_ROUTE_ROUTER_H
#define SKUA_ROUTE_ROUTER_H

#include "route/pattern.h"

enum { ROUTE_METHODS_MAX = 64 };

typedef struct route {
    route_pattern pattern; // its text is as registered, and ends in NUL
    skua_handler *handler;
    void *user;
    const char *name; // by which the program calls it; NULL: none
} route;

// The name of a route for people who read of it: its own, or else its pattern.
static inline const char *route_label(const route *r)
{
    return r->name ? r->name : r->pattern.text.ptr;
}

typedef struct router router;

router *router_new(void);
void router_free(router *r);

// A route to be added. Pattern and name are copied into the router.
typedef struct router_desc {
    slice pattern;    // in the form of skua_route
    const char *name; // NULL: none
    skua_handler *handler;
    void *user;
} router_desc;

// Adds a route.
// Errors: SKUA_EINVAL, SKUA_EEXIST, SKUA_ENOMEM; why, room octets, then holds a sentence that names
// the pattern(s).
skua_status router_add(router *r, const router_desc *desc, char *why, size_t room);

typedef enum router_outcome { ROUTER_FOUND, ROUTER_NO_PATH, ROUTER_NO_METHOD } router_outcome;

typedef struct router_match {
    const route *route; // FOUND
    unsigned count;
    // nodes that were looked at; with ROUTER_NO_METHOD those for Allow are not counted
    unsigned steps;
    slice values[PATTERN_PARAMS_MAX]; // FOUND: what the params matched, inside authority and path
    // NO_METHOD: the methods the path has, as Allow states them ("GET, HEAD, POST"), written to
    // allow
    char allow[256];
    size_t allow_len;
} router_match;

// A question to a router.
typedef struct router_query {
    slice method;
    slice authority; // host [":" port]; empty when not known
    slice path;      // normalised
} router_query;

// A GET route matches HEAD too unless a HEAD route is as specific. Only the parts of match that the
// outcome names are written, and steps.
// "%2F" inside a segment is data: router values keep it as it is.
router_outcome router_find(const router *r, const router_query *query, router_match *match);

// Whether any route takes this method by name or takes every method (for 501 against 405).
bool router_knows_method(const router *r, slice method);

// The octets of the longest method that is registered with IANA or named by a route.
size_t router_method_octets_max(const router *r);

#endif
