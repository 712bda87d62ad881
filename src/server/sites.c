// SPDX-License-Identifier: MIT
//
// Sites of a server.

#include "server/sites.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "exchange/site.h"
#include "exchange/sites.h"
#include "server/config.h"
#include "server/post.h"
#include "server/routes.h"
#include "ws/endpoint.h"
#include "ws/handshake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

struct skua_site {
    served_site served; // first; parts are set when it is put
    site_routes routes;
    skua_server *server;
    char *hosts;                 // names with spaces between them
    bool is_put;                 // it is the server's
    void (*release)(void *user); // NULL: nobody is to be told
    void *user;
    server_keepsake *keepsakes;
#ifndef SKUA_NO_WEBSOCKET
    ws_endpoint *sockets; // routes of WebSockets
#endif
};

void sites_free(skua_server *server)
{
    server->sites.is_over = true;
    site_table_unref(server->sites.table);
    (void)pthread_mutex_destroy(&server->sites.changing);
    (void)pthread_mutex_destroy(&server->locals.changing);
}

void sites_lock(skua_server *server)
{
    (void)pthread_mutex_lock(&server->sites.changing);
}

void sites_unlock(skua_server *server)
{
    (void)pthread_mutex_unlock(&server->sites.changing);
}

// ---- Making ----

// One that was put may be gone at any time, and is found out while it is there.
#define CONTRACT_SITE(site)                                                                        \
    do {                                                                                           \
        CONTRACT_GIVEN(site);                                                                      \
        CONTRACT(!(site)->is_put, "site has been put: it is the server's");                        \
    } while (0)

__attribute__((format(printf, 3, 4))) static skua_status
sites_say(skua_site *site, skua_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(site->routes.error, sizeof site->routes.error, format, arguments);
    va_end(arguments);
    return status;
}

static void sites_free_sockets(skua_site *site)
{
#ifndef SKUA_NO_WEBSOCKET
    for (ws_endpoint *at = site->sockets, *next; at; at = next) {
        next = at->next;
        ws_endpoint_free(at);
    }
#else
    (void)site;
#endif
}

static void site_destroy(served_site *served)
{
    skua_site *site = (skua_site *)(void *)served;
    site_routes_deinit(&site->routes);
    sites_free_sockets(site);
    for (server_keepsake *at = site->keepsakes, *next; at; at = next) {
        next = at->next;
        at->drop(at->user);
        memory_free(at);
    }
    if (site->release) site->release(site->user);
    skua_tls_identity_unref(site->served.identity);
    memory_free(site->hosts);
    memory_free(site);
}

__attribute__((cold)) skua_site *
skua_site_new_sized(skua_server *server, const skua_site_desc *desc, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_site_desc own;
    desc = SIZED_GIVEN(desc, sizes->site_desc, &own);
    CONTRACT_GIVEN(desc->hosts);
    skua_site *site = memory_zeroed(sizeof *site);
    if (!site) return NULL;
    site->served.destroy = site_destroy;
    atomic_init(&site->served.shared.refs, 1);
    site->server = server;
    site->hosts = memory_text(desc->hosts);
    if (site_routes_init(&site->routes) && site->hosts) {
        site->release = desc->release;
        site->user = desc->user;
        if (desc->identity) site->served.identity = skua_tls_identity_ref(desc->identity);
        return site;
    }
    site_unref(&site->served);
    return NULL;
}

__attribute__((cold)) void skua_site_free(skua_site *site)
{
    if (!site) return;
    CONTRACT_SITE(site);
    site_unref(&site->served);
}

skua_status skua_site_on_free(skua_site *site, void (*release)(void *user), void *user)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(release);
    server_keepsake *keepsake = memory_alloc(sizeof *keepsake);
    if (!keepsake) return SKUA_ENOMEM;
    *keepsake = (server_keepsake){ .next = site->keepsakes, .drop = release, .user = user };
    site->keepsakes = keepsake;
    return SKUA_OK;
}

const char *skua_site_error(const skua_site *site)
{
    CONTRACT_SITE(site);
    return site->routes.error;
}

skua_server *skua_site_server(const skua_site *site)
{
    CONTRACT_SITE(site);
    return site->server;
}

void skua_site_set_error(skua_site *site, const char *sentence)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(sentence);
    (void)sites_say(site, SKUA_OK, "%s", sentence);
}

__attribute__((cold)) skua_status skua_site_route(skua_site *site, const char *pattern,
                                                  skua_handler *handler, void *user)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(handler);
    const skua_route_desc desc = { .pattern = pattern, .handler = handler, .user = user };
    return site_add(&site->routes, &desc);
}

static skua_status sites_add(void *user, const skua_route_desc *desc)
{
    const route_adding *by = user;
    skua_site *site = by->to;
    if (!desc->directory) return site_add(&site->routes, desc);
    skua_sizes sizes;
    const skua_directory_config how = route_directory(by, desc, &sizes);
    return skua_site_directory_sized(site, desc->pattern, desc->directory, &how, &sizes);
}

__attribute__((cold)) skua_status skua_site_route_add_sized(skua_site *site,
                                                            const skua_route_desc *desc,
                                                            const skua_sizes *sizes)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_route_desc own;
    desc = SIZED_GIVEN(desc, sizes->route_desc, &own);
    route_expect(desc, __func__);
    if (desc->blocking && !server_has_threads(site->server))
        return sites_say(site, SKUA_ENOMEM, "out of memory for the threads of blocking handlers");
    return sites_add(&(route_adding){ .to = site, .function = __func__, .sizes = sizes }, desc);
}

__attribute__((cold)) skua_status skua_site_group_sized(skua_site *site, const skua_group *group,
                                                        const skua_sizes *sizes)
{
    CONTRACT_SITE(site);
    CONTRACT_SIZES(sizes);
    group_taken taken;
    if (!group_take(__func__, group, sizes, &taken))
        return sites_say(site, SKUA_ENOMEM, "out of memory for a group");
    route_adding by = { .to = site, .function = __func__, .sizes = sizes };
    skua_status status;
    if (group_blocks(&taken.group) && !server_has_threads(site->server))
        status = sites_say(site, SKUA_ENOMEM, "out of memory for the threads of blocking handlers");
    else status = site_add_group(&site->routes, &taken.group, sites_add, &by);
    group_drop(&taken);
    return status;
}

__attribute__((cold)) skua_status skua_site_use_sized(skua_site *site, const char *prefix,
                                                      const skua_middleware *middleware,
                                                      const skua_sizes *sizes)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(prefix);
    CONTRACT_GIVEN(middleware);
    CONTRACT_SIZES(sizes);
    skua_middleware own;
    middleware = SIZED_GIVEN(middleware, sizes->middleware, &own);
    return site_use(&site->routes, prefix, middleware);
}

__attribute__((cold)) skua_status skua_site_on_error(skua_site *site, const char *prefix,
                                                     skua_error_fn *fn, void *user)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(prefix);
    CONTRACT_GIVEN(fn);
    return site_on_error(&site->routes, prefix, fn, user);
}

__attribute__((cold)) skua_status skua_site_websocket_sized(skua_site *site, const char *pattern,
                                                            const skua_websocket_desc *desc,
                                                            const skua_sizes *sizes)
{
    CONTRACT_SITE(site);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
#ifndef SKUA_NO_WEBSOCKET
    skua_websocket_desc own;
    desc = SIZED_GIVEN(desc, sizes->websocket_desc, &own);
    char why[WS_WHY_OCTETS];
    skua_status status = ws_endpoint_check(pattern, desc, why);
    if (status) return sites_say(site, status, "%s", why);
    if (desc->blocking && !server_has_threads(site->server))
        return sites_say(site, SKUA_ENOMEM, "%s", skua_status_text(SKUA_ENOMEM));
    ws_endpoint *endpoint = ws_endpoint_new(desc);
    if (!endpoint) return sites_say(site, SKUA_ENOMEM, "%s", skua_status_text(SKUA_ENOMEM));
    endpoint->next = site->sockets;
    site->sockets = endpoint;
    const skua_route_desc added = { .pattern = pattern, .handler = ws_handshake, .user = endpoint };
    return site_add(&site->routes, &added);
#else
    return sites_say(site, SKUA_EUNSUPPORTED, "WebSocket is not built in");
#endif
}

// ---- Workers ----

// A letter to a worker, and what it brings.
typedef struct sites_letter {
    post *post;
    site_view *view;
} sites_letter;

// From here on requests for the worker meet other sites; hosts are looked up anew. view: given.
static void sites_change_worker(server_worker *w, site_view *view)
{
    site_view *before = w->self.sites;
    w->self.sites = view;
    w->self.host_len = 0;
    size_t octets = site_view_method_octets_max(view);
    if (octets > UINT16_MAX) octets = UINT16_MAX;
    if (octets > w->self.head_bounds.method_octets_max)
        w->self.head_bounds.method_octets_max = (uint16_t)octets;
    site_view_retire(before);
}

static void sites_change(skua_worker *self, void *user)
{
    skua_server *server = self->server;
    sites_lock(server);
    self->blocking = server->blocking; // perhaps a site has brought the first blocking route
    sites_unlock(server);
    sites_change_worker(worker_of(self), user);
}

skua_status sites_equip(server_worker *w)
{
    skua_server *server = w->self.server;
    site_table *table = server->sites.table;
    site_view *view = table ? site_view_new(table) : NULL;
    if (view) sites_change_worker(w, view);
    w->self.blocking = server->blocking;
    return view || !table ? SKUA_OK : SKUA_ENOMEM;
}

skua_status sites_open_worker(server_worker *w)
{
    sites_lock(w->self.server);
    skua_status status = sites_equip(w);
    sites_unlock(w->self.server);
    return status;
}

void sites_close_worker(server_worker *w)
{
    site_view_retire(w->self.sites);
    w->self.sites = NULL;
}

static void sites_free_letters(sites_letter *letters, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        memory_free(letters[i].post);
        site_view_retire(letters[i].view);
    }
}

// All letters are made before one is sent, with what each worker needs: either every worker is told or none.
static bool sites_write(const skua_server *server, site_table *table, sites_letter *letters)
{
    for (unsigned i = 0; i < server_worker_count(server); i++) {
        letters[i].view = site_view_new(table);
        letters[i].post = letters[i].view ? post_new(sites_change, letters[i].view) : NULL;
        if (letters[i].post) continue;
        sites_free_letters(letters, i + 1);
        return false;
    }
    return true;
}

// While the gate is closed, workers are being opened or freed and must not be looked at.
static skua_status sites_tell_all(skua_server *server, site_table *table)
{
    server_sites *sites = &server->sites;
    if (!gate_enter(&server->running)) {
        sites->is_missed = true;
        return SKUA_OK;
    }
    sites_letter *letters = memory_array(server_worker_count(server), sizeof *letters);
    bool written = letters && sites_write(server, table, letters);
    for (unsigned i = 0; written && i < server_worker_count(server); i++) {
        // one that is not taken is for a worker that is ending
        if (!post_send(letters[i].post, server->workers[i])) sites_free_letters(&letters[i], 1);
    }
    memory_free(letters);
    gate_leave(&server->running);
    if (written) sites->is_missed = false;
    return written ? SKUA_OK : SKUA_ENOMEM;
}

skua_status sites_catch_up(skua_server *server)
{
    server_sites *sites = &server->sites;
    sites_lock(server);
    skua_status status =
        sites->is_missed && sites->table ? sites_tell_all(server, sites->table) : SKUA_OK;
    sites_unlock(server);
    return status;
}

// ---- Putting ----

// table: of the sites from now on; the caller's if this fails.
static skua_status sites_take(skua_server *server, site_table *table, site_table **dropped)
{
    server_sites *sites = &server->sites;
    *dropped = table;
    if (!table) return SKUA_ENOMEM;
    skua_status status = sites_tell_all(server, table);
    if (status) return status;
    *dropped = sites->table;
    sites->table = table;
    return SKUA_OK;
}

// names: those that change hands. site: whose they are then; NULL: nobody's. *dropped: a table that is not
// needed any more.
static skua_status sites_change_names(skua_server *server, slice names, served_site *site,
                                      site_table **dropped)
{
    bool found = false;
    if (server->sites.is_over) return SKUA_ECLOSED;
    site_table *table = site_table_with(server->sites.table, names, site, &found);
    if (!table || site || found) return sites_take(server, table, dropped);
    *dropped = table;
    return SKUA_ENOENT;
}

// The last to let a site go calls its release, which may put another one: not while the lock is held.
static skua_status sites_change_names_now(skua_server *server, const char *names, served_site *site)
{
    site_table *dropped = NULL;
    sites_lock(server);
    skua_status status = sites_change_names(server, slice_of(names), site, &dropped);
    sites_unlock(server);
    site_table_unref(dropped);
    return status;
}

static skua_status sites_seal(skua_site *site)
{
    if (!site->hosts[strspn(site->hosts, " ")] || !config_hosts_are_names(site->hosts))
        return sites_say(site, SKUA_EINVAL,
                         "a site's hosts are names without ports, separated by spaces");
    site->served.parts = site->routes.parts;
    return SKUA_OK;
}

// The table has it from now on.
static void sites_give(skua_site *site)
{
    site->is_put = true;
    site_unref(&site->served);
}

__attribute__((cold)) skua_status skua_site_put(skua_site *site)
{
    CONTRACT_SITE(site);
    skua_status status = sites_seal(site);
    if (status) return status;
    status = sites_change_names_now(site->server, site->hosts, &site->served);
    if (status) return sites_say(site, status, "%s", skua_status_text(status));
    sites_give(site);
    return SKUA_OK;
}

__attribute__((cold)) skua_status skua_site_withdraw(skua_server *server, const char *hosts)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(hosts);
    return sites_change_names_now(server, hosts, NULL);
}

// ---- All at once ----

// Each is marked as put, so that one that is there twice is found out.
static void sites_expect(const skua_server *server, skua_site *const *sites, size_t count,
                         const char *caller)
{
    for (size_t i = 0; i < count; i++) {
        if (!sites[i] || sites[i]->is_put)
            contract_broken(caller, "sites has one that is NULL, has been put, or is there twice");
        if (sites[i]->server != server) contract_broken(caller, "sites has one of another server");
        sites[i]->is_put = true;
    }
}

static skua_status sites_seal_all(skua_site *const *sites, size_t count)
{
    skua_status status = SKUA_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = sites_seal(sites[i]);
    return status;
}

// Returns: NULL when memory ran out.
static site_table *sites_table_of(skua_site *const *sites, size_t count)
{
    bool found;
    site_table *table = site_table_with(NULL, slice_of(""), NULL, &found);
    for (size_t i = 0; i < count && table; i++) {
        site_table *before = table;
        table = site_table_with(before, slice_of(sites[i]->hosts), &sites[i]->served, &found);
        site_table_unref(before);
    }
    return table;
}

static skua_status sites_replace_all(skua_server *server, skua_site *const *sites, size_t count)
{
    site_table *table = sites_table_of(sites, count), *dropped = table;
    sites_lock(server);
    skua_status status = server->sites.is_over ? SKUA_ECLOSED : sites_take(server, table, &dropped);
    sites_unlock(server);
    for (size_t i = 0; i < count && !status; i++)
        sites_give(sites[i]);
    site_table_unref(dropped);
    return status;
}

__attribute__((cold)) skua_status skua_sites_replace(skua_server *server, skua_site *const *sites,
                                                     size_t count)
{
    CONTRACT_SERVER(server);
    CONTRACT(sites || count == 0, "sites must not be NULL");
    sites_expect(server, sites, count, __func__);
    skua_status status = sites_seal_all(sites, count);
    if (!status) status = sites_replace_all(server, sites, count);
    for (size_t i = 0; i < count && status; i++)
        sites[i]->is_put = false; // still the caller's
    return status;
}
