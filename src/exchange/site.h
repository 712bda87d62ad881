// SPDX-License-Identifier: MIT
//
// Site: the routes, middleware and error functions of some hosts while they are being added. One
// thread fills it; every worker reads it once it is served.
#ifndef SKUA_EXCHANGE_SITE_H
#define SKUA_EXCHANGE_SITE_H

#include "exchange/site_parts.h"

typedef struct limited_route limited_route;
typedef struct blocking_route blocking_route;

enum { SITE_ERROR_OCTETS = 512 };

// Routes of its own, with what is around their handlers.
typedef struct site_routes {
    site_parts parts;
    limited_route *limited;   // NULL: none
    blocking_route *blocking; // NULL: none
    char error[SITE_ERROR_OCTETS];
} site_routes;

// Returns: false when memory ran out; there is nothing to be given back then.
bool site_routes_init(site_routes *s);
void site_routes_deinit(site_routes *s);

// As the functions of skua.h of that kind. error then holds a sentence.
skua_status site_add(site_routes *s, const skua_route_desc *desc);
skua_status site_use(site_routes *s, const char *prefix, const skua_middleware *middleware);
skua_status site_on_error(site_routes *s, const char *prefix, skua_error_fn *fn, void *user);

// Adds one of a group's routes, of which the whole pattern is known by now. to: of whose routes.
typedef skua_status site_add_fn(void *to, const skua_route_desc *desc);

skua_status site_add_group(site_routes *s, const skua_group *group, site_add_fn *add, void *to);

#endif
