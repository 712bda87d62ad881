// SPDX-License-Identifier: MIT
//
// Routes, middleware and error functions of the server's own, for hosts that are no site's.

#include "server/routes.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "server/sites.h"
#include "ws/endpoint.h"
#include "ws/handshake.h"

void route_expect(const skua_route_desc *desc, const char *function)
{
    if (!desc->pattern) contract_broken(function, "desc->pattern must not be NULL");
    int handlers = (desc->handler != NULL) + (desc->blocking != NULL) + (desc->directory != NULL);
    if (handlers == 0)
        contract_broken(function, "desc must have a handler, one in blocking, or a directory");
    if (handlers > 1) contract_broken(function, "desc must not have two handlers");
    if (desc->directory && (desc->content_octets_max || desc->timeout_ns))
        contract_broken(function, "a directory takes neither content_octets_max nor timeout_ns");
    if (desc->timeout_ns < -1) contract_broken(function, "timeout_ns must be -1, 0 or more");
}

static void group_expect(const skua_group *group, const char *function)
{
    if (!group->prefix) contract_broken(function, "group->prefix must not be NULL");
    if (group->route_count && !group->routes)
        contract_broken(function, "group->routes has a count, but is NULL");
    if (group->middleware_count && !group->middleware)
        contract_broken(function, "group->middleware has a count, but is NULL");
}

bool group_take(const char *function, const skua_group *given, const skua_sizes *sizes,
                group_taken *taken)
{
    if (!given) contract_broken(function, "group must not be NULL");
    skua_group *group = &taken->group;
    sized_take(function, given, sizes->group, group, sizeof *group);
    group_expect(group, function);
    group->middleware =
        sized_array(function, group->middleware, group->middleware_count, sizes->middleware,
                    sizeof *group->middleware, &taken->middleware);
    group->routes = sized_array(function, group->routes, group->route_count, sizes->route_desc,
                                sizeof *group->routes, &taken->routes);
    bool fits =
        (group->middleware || !group->middleware_count) && (group->routes || !group->route_count);
    for (size_t i = 0; i < group->route_count && fits; i++)
        route_expect(&group->routes[i], function);
    if (!fits) group_drop(taken);
    return fits;
}

void group_drop(group_taken *taken)
{
    memory_free(taken->middleware);
    memory_free(taken->routes);
}

bool group_blocks(const skua_group *group)
{
    for (size_t i = 0; i < group->route_count; i++) {
        if (group->routes[i].blocking) return true;
    }
    return false;
}

static skua_status server_is_open(skua_server *server)
{
    if (!server->started) return SKUA_OK;
    return server_fail(server, SKUA_ESTATE, "the server has been started already");
}

// The sentence about a failure is the server's.
static skua_status server_told(skua_server *server, skua_status status)
{
    return status ? server_fail(server, status, "%s", server->own.error) : SKUA_OK;
}

// Also while it runs, for a site.
bool server_has_threads(skua_server *server)
{
    sites_lock(server);
    if (!server->blocking) server->blocking = blocking_new(&server->config);
    bool has = server->blocking != NULL;
    sites_unlock(server);
    return has;
}

__attribute__((cold)) skua_status skua_route(skua_server *server, const char *pattern,
                                             skua_handler *handler, void *user)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(handler);
    const skua_route_desc desc = { .pattern = pattern, .handler = handler, .user = user };
    skua_status open = server_is_open(server);
    return open ? open : server_told(server, site_add(&server->own, &desc));
}

skua_directory_config route_directory(const route_adding *by, const skua_route_desc *desc,
                                      skua_sizes *sizes)
{
    skua_directory_config how = { 0 };
    if (desc->directory_config)
        sized_take(by->function, desc->directory_config, by->sizes->directory_config, &how,
                   sizeof how);
    if (desc->name) how.name = desc->name;
    *sizes = *skua_sizes_here();
    sizes->media = by->sizes->media;
    sizes->file_info = by->sizes->file_info;
    return how;
}

static skua_status server_add(void *user, const skua_route_desc *desc)
{
    const route_adding *by = user;
    skua_server *server = by->to;
    if (!desc->directory) return server_told(server, site_add(&server->own, desc));
    skua_sizes sizes;
    const skua_directory_config how = route_directory(by, desc, &sizes);
    return skua_route_directory_sized(server, desc->pattern, desc->directory, &how, &sizes);
}

__attribute__((cold)) skua_status skua_route_add_sized(skua_server *server,
                                                       const skua_route_desc *desc,
                                                       const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_route_desc own;
    desc = SIZED_GIVEN(desc, sizes->route_desc, &own);
    route_expect(desc, __func__);
    skua_status open = server_is_open(server);
    if (open) return open;
    if (desc->blocking && !server_has_threads(server))
        return server_fail(server, SKUA_ENOMEM, "out of memory for a route");
    return server_add(&(route_adding){ .to = server, .function = __func__, .sizes = sizes }, desc);
}

static skua_status server_add_group(skua_server *server, const skua_group *group, route_adding *by)
{
    if (group_blocks(group) && !server_has_threads(server))
        return server_fail(server, SKUA_ENOMEM, "out of memory for a route");
    server->own.error[0] = '\0';
    skua_status status = site_add_group(&server->own, group, server_add, by);
    // a directory has told of its failure already
    return status && server->own.error[0] ? server_told(server, status) : status;
}

__attribute__((cold)) skua_status skua_route_group_sized(skua_server *server,
                                                         const skua_group *group,
                                                         const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_SIZES(sizes);
    skua_status open = server_is_open(server);
    if (open) return open;
    group_taken taken;
    if (!group_take(__func__, group, sizes, &taken))
        return server_fail(server, SKUA_ENOMEM, "out of memory for a group");
    skua_status status =
        server_add_group(server, &taken.group,
                         &(route_adding){ .to = server, .function = __func__, .sizes = sizes });
    group_drop(&taken);
    return status;
}

__attribute__((cold)) skua_status skua_route_blocking(skua_server *server, const char *pattern,
                                                      skua_handler *handler, void *user)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(handler);
    return skua_route_add(
        server, &(skua_route_desc){ .pattern = pattern, .blocking = handler, .user = user });
}

__attribute__((cold)) skua_status skua_use_sized(skua_server *server, const char *prefix,
                                                 const skua_middleware *middleware,
                                                 const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(prefix);
    CONTRACT_GIVEN(middleware);
    CONTRACT_SIZES(sizes);
    skua_middleware own;
    middleware = SIZED_GIVEN(middleware, sizes->middleware, &own);
    skua_status open = server_is_open(server);
    return open ? open : server_told(server, site_use(&server->own, prefix, middleware));
}

__attribute__((cold)) skua_status skua_on_error(skua_server *server, const char *prefix,
                                                skua_error_fn *fn, void *user)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(prefix);
    CONTRACT_GIVEN(fn);
    skua_status open = server_is_open(server);
    return open ? open : server_told(server, site_on_error(&server->own, prefix, fn, user));
}

#ifndef SKUA_NO_WEBSOCKET
__attribute__((cold)) static skua_status
server_add_sockets(skua_server *server, const char *pattern, const skua_websocket_desc *desc)
{
    char why[WS_WHY_OCTETS];
    skua_status status = ws_endpoint_check(pattern, desc, why);
    if (status) return server_fail(server, status, "%s", why);
    if (desc->blocking && !server_has_threads(server)) return SKUA_ENOMEM;
    ws_endpoint *endpoint = ws_endpoint_new(desc);
    if (!endpoint) return SKUA_ENOMEM;
    status = skua_server_on_free(server, ws_endpoint_free, endpoint);
    if (status) {
        ws_endpoint_free(endpoint);
        return status;
    }
    return skua_route(server, pattern, ws_handshake, endpoint);
}
#endif

__attribute__((cold)) skua_status skua_websocket_sized(skua_server *server, const char *pattern,
                                                       const skua_websocket_desc *desc,
                                                       const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
#ifndef SKUA_NO_WEBSOCKET
    skua_websocket_desc own;
    return server_add_sockets(server, pattern, SIZED_GIVEN(desc, sizes->websocket_desc, &own));
#else
    return SKUA_EUNSUPPORTED;
#endif
}
