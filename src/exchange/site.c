// SPDX-License-Identifier: MIT
//
// Site: what belongs to it is put together here, from the parts that each have a file of their own.

#include "exchange/site.h"

#include "exchange/blocking.h"
#include "exchange/error_functions.h"
#include "exchange/limited.h"
#include "exchange/middleware.h"
#include "route/router.h"

#include <stdio.h>

bool site_routes_init(site_routes *s)
{
    *s = (site_routes){ .parts = { .router = router_new() } };
    return s->parts.router != NULL;
}

void site_routes_deinit(site_routes *s)
{
    blocking_free_routes(s->blocking);
    limited_free(s->limited);
    middleware_free(s->parts.middleware);
    error_functions_free(s->parts.errors);
    router_free(s->parts.router);
}

__attribute__((cold)) static skua_status site_lacks_memory(site_routes *s, const char *pattern)
{
    (void)snprintf(s->error, sizeof s->error, "route \"%.200s\": memory ran out", pattern);
    return SKUA_ENOMEM;
}

// Each layer around the program's handler has its own entry: one hands it to the pool, one sets the limit.
__attribute__((cold)) skua_status site_add(site_routes *s, const skua_route_desc *desc)
{
    skua_handler *handler = desc->handler;
    void *user = desc->user;
    if (desc->blocking) {
        user = blocking_add(&s->blocking, desc->blocking, user);
        handler = blocking_begin;
        if (!user) return site_lacks_memory(s, desc->pattern);
    }
    if (desc->content_octets_max) {
        user = limited_add(&s->limited, handler, user, desc->content_octets_max);
        handler = limited_begin;
        if (!user) return site_lacks_memory(s, desc->pattern);
    }
    return router_add(s->parts.router, slice_of(desc->pattern), handler, user, s->error,
                      sizeof s->error);
}

__attribute__((cold)) skua_status site_use(site_routes *s, const char *prefix,
                                           const skua_middleware *middleware)
{
    return middleware_add(&s->parts.middleware, prefix, middleware, s->error, sizeof s->error);
}

__attribute__((cold)) skua_status site_on_error(site_routes *s, const char *prefix,
                                                skua_error_fn *fn, void *user)
{
    return error_functions_add(&s->parts.errors, prefix, fn, user, s->error, sizeof s->error);
}
