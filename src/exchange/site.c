// SPDX-License-Identifier: MIT
//
// Site: what belongs to it is put together here, from the parts that each have a file of their own.

#include "exchange/site.h"

#include "base/memory.h"
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
    if (desc->content_octets_max || desc->timeout_ns) {
        user = limited_add(&s->limited, handler, user, desc->content_octets_max, desc->timeout_ns);
        handler = limited_begin;
        if (!user) return site_lacks_memory(s, desc->pattern);
    }
    const router_desc added = { slice_of(desc->pattern), desc->name, handler, user };
    return router_add(s->parts.router, &added, s->error, sizeof s->error);
}

// "GET /users" below "example.org/api" is "GET example.org/api/users".
static char *site_join(const char *prefix, const char *pattern)
{
    const char *space = strchr(pattern, ' ');
    const char *path = space ? space + 1 : pattern;
    size_t octets = strlen(prefix) + strlen(pattern) + 1;
    char *joined = memory_alloc(octets);
    if (joined)
        (void)snprintf(joined, octets, "%.*s%s%s", (int)(path - pattern), pattern, prefix, path);
    return joined;
}

static skua_status site_add_below(site_routes *s, const char *prefix, const skua_route_desc *desc,
                                  site_add_fn *add, void *to)
{
    skua_route_desc joined = *desc;
    char *pattern = site_join(prefix, desc->pattern);
    if (!pattern) return site_lacks_memory(s, desc->pattern);
    joined.pattern = pattern;
    skua_status status = add(to, &joined);
    memory_free(pattern);
    return status;
}

static skua_status site_refuse_group(site_routes *s, const char *text, const char *reason)
{
    (void)snprintf(s->error, sizeof s->error, "group \"%.200s\": %s", text, reason);
    return SKUA_EINVAL;
}

__attribute__((cold)) skua_status site_add_group(site_routes *s, const skua_group *group,
                                                 site_add_fn *add, void *to)
{
    const char *prefix = group->prefix;
    size_t len = strlen(prefix);
    if (strchr(prefix, ' ') || !strchr(prefix, '/') || prefix[len - 1] == '/')
        return site_refuse_group(s, prefix,
                                 "a prefix is \"[HOST]/PATH\", without \"/\" at its end");
    for (size_t i = 0; i < group->route_count; i++) {
        const char *pattern = group->routes[i].pattern;
        const char *space = strchr(pattern, ' ');
        if (*(space ? space + 1 : pattern) != '/')
            return site_refuse_group(s, pattern, "a pattern in a group is \"[METHOD ]/PATH\"");
    }
    skua_status status = SKUA_OK;
    for (size_t i = 0; i < group->middleware_count && !status; i++)
        status = site_use(s, prefix, &group->middleware[i]);
    for (size_t i = 0; i < group->route_count && !status; i++)
        status = site_add_below(s, prefix, &group->routes[i], add, to);
    return status;
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
