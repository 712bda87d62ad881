// SPDX-License-Identifier: MIT
//
// The order of middleware is that of the phases: fields and doors, limits, preflights, the canonical host,
// passwords, which redirects are not asked for, archives, rewrites and files.

#include "conf/build.h"

#include "conf/archive.h"
#include "conf/chosen.h"
#include "conf/guard.h"
#include "conf/limits.h"
#include "conf/method.h"
#include "conf/preload.h"
#include "conf/response.h"
#include "conf/rewrite.h"
#include "conf/sites.h"
#include "conf/upload.h"
#include "status/tops.h"

#include <skua/middleware/limit.h>

#include <string.h>
#include <unistd.h>

typedef struct builder {
    conf *from;
    skua_server *server;
    skua_site *site;
    unsigned around; // limits and passwords of it
    conf_findings *findings;
    skua_site **built;
    unsigned count; // of those
} builder;

static bool build_judge(builder *b, conf_place at, skua_status status)
{
    if (!status) return true;
    const char *why = skua_site_error(b->site);
    conf_find(b->findings, at, "%s", *why ? why : skua_status_text(status));
    return false;
}

static bool build_use(builder *b, conf_place at, const skua_middleware *around)
{
    return build_judge(b, at, skua_site_use(b->site, "/", around));
}

// A limit, or a password. Each is looked at for every request of the site.
static bool build_use_one_of(builder *b, conf_place at, const skua_middleware *around)
{
    if (b->around++ < CONF_AROUND_MAX) return build_use(b, at, around);
    conf_find(b->findings, at, "a site and its paths may have %d limits and passwords together",
              CONF_AROUND_MAX);
    return false;
}

// A limit in its scope. Its prefix is not the library's to judge, since a scope may be of one path alone.
typedef struct limited {
    const conf_scope *scope;
    const char *methods; // as those of a conf_limit
    skua_limit *limit;
} limited;

static void limited_before(skua_request *request, void *user)
{
    const limited *of = user;
    skua_slice path = skua_request_path(request);
    bool holds = conf_scope_has(of->scope, path.ptr, path.len) &&
                 conf_method_is_of(of->methods, skua_request_method(request));
    if (holds) skua_limit_before(request, of->limit);
    else skua_next(request);
}

static void limited_end(skua_request *request, skua_end how, void *user)
{
    skua_limit_end(request, how, ((const limited *)user)->limit);
}

// A limit of the defaults counts the requests to all sites that have it.
static skua_limit *build_table(const builder *b, const conf_site *site, const conf_scope *scope,
                               const conf_limit *limit)
{
    const skua_limit rates = { .requests_per_s = limit->per_s,
                               .burst = limit->burst,
                               .octets_per_s = limit->octets_per_s,
                               .running_max = limit->running_max };
    const conf_limit *at = b->from->defaults.limits;
    while (at && at != limit)
        at = at->next;
    const char *name =
        conf_print(b->findings->memory, "%s %s%s %s %a %a %a %u", at ? "" : site->hosts,
                   scope->is_exact ? "= " : "", scope->path, limit->methods ? limit->methods : "",
                   limit->per_s, limit->burst, limit->octets_per_s, limit->running_max);
    skua_limit *table = name ? conf_limits_get(name, &rates) : NULL;
    if (!table) b->findings->memory->is_out = true;
    if (table && conf_memory_on_free(b->findings->memory, conf_limits_return, table)) return table;
    conf_limits_return(table);
    return NULL;
}

static bool build_limit(builder *b, const conf_site *site, const conf_scope *scope,
                        conf_limit *limit)
{
    limited *of = conf_take(b->findings->memory, sizeof *of);
    if (!limit->table) limit->table = build_table(b, site, scope, limit);
    if (!limit->table || !of) return false;
    *of = (limited){ scope, limit->methods, limit->table };
    const skua_middleware around = { .before = limited_before, .end = limited_end, .user = of };
    return build_use_one_of(b, scope->at, &around);
}

static bool build_limits(builder *b, const conf_site *site)
{
    for (const conf_scope *at = &site->scope; at;
         at = at == &site->scope ? site->paths : at->next) {
        for (conf_limit *limit = at->limits; limit; limit = limit->next) {
            if (!build_limit(b, site, at, limit)) return false;
        }
    }
    return true;
}

// Outer guards come before inner ones; each is there once, and looks at the scope of a request by itself.
static bool build_lock(builder *b, conf_site *site, const conf_lock *lock)
{
    if (!lock) return true;
    conf_guard *guard = lock->guard;
    if (!build_lock(b, site, lock->outer)) return false;
    if (!guard || guard->used_by == site) return true;
    conf_guarded *guarded = conf_take(b->findings->memory, sizeof *guarded);
    if (!guarded) return false;
    guard->used_by = site;
    *guarded = (conf_guarded){ .site = site, .guard = guard };
    const skua_middleware around = { .before = conf_guard_before,
                                     .end = conf_guard_end,
                                     .user = guarded };
    return build_use_one_of(b, guard->at, &around);
}

static bool build_locks(builder *b, conf_site *site)
{
    bool built = build_lock(b, site, site->scope.locks);
    for (const conf_scope *at = site->paths; at && built; at = at->next)
        built = build_lock(b, site, at->locks);
    return built;
}

// Whether any path does: a root is for all below it, and each request's own path decides.
static bool build_compresses(const conf_site *site)
{
    bool compresses = site->scope.compresses;
    for (const conf_scope *at = site->paths; at; at = at->next)
        compresses = compresses || at->compresses;
    return compresses;
}

// Copies what a list says into an array, as the library takes it. Returns: false without memory.
static bool build_types(const builder *b, const conf_scope *scope, skua_directory_config *how)
{
    size_t count = 0;
    for (const conf_media *at = scope->types; at; at = at->next)
        count++;
    skua_media *types = count ? conf_take(b->findings->memory, count * sizeof *types) : NULL;
    for (const conf_media *at = scope->types; at && types; at = at->next)
        types[how->types_count++] = (skua_media){ at->ending, at->type };
    how->types = types;
    return types || !count;
}

static bool build_roots(builder *b, conf_site *site)
{
    bool compresses = build_compresses(site);
    for (conf_scope *at = &site->scope; at; at = at == &site->scope ? site->paths : at->next) {
        if (!at->root) continue;
        skua_directory_config how = at->directory;
        how.compress = compresses;
        how.tries = at->tries;
        how.tries_count = at->tries_count;
        how.opened = &at->opened;
        if (!build_types(b, at, &how) || !conf_upload_show(b->from, site, at, &how) ||
            !conf_archive_show(b->from, site, at, &how) ||
            !conf_chosen_show(b->from, site, at, &how))
            return false;
        if (at->is_app) how.fallback = how.index ? how.index : "index.html";
        skua_status status = skua_site_directory(b->site, at->path, at->root, &how);
        if (!build_judge(b, at->root_at, status)) return false;
    }
    return true;
}

static bool build_upload(builder *b, const conf_scope *scope)
{
    conf_upload *upload = scope->upload;
    const char *put = conf_print(b->findings->memory, "PUT %s{file...}", scope->path);
    const char *delete = conf_print(b->findings->memory, "DELETE %s{file...}", scope->path);
    if (!put || !delete) return false;
    skua_status status = skua_site_route(b->site, put, conf_upload_handle, upload);
    if (!status && upload->place.deletes)
        status = skua_site_route(b->site, delete, conf_upload_handle, upload);
    return build_judge(b, upload->at, status);
}

static bool build_uploads(builder *b, const conf_site *site)
{
    for (const conf_scope *at = &site->scope; at;
         at = at == &site->scope ? site->paths : at->next) {
        bool is_its_own = at->upload && strcmp(at->upload->place.path, at->path) == 0;
        if (is_its_own && !build_upload(b, at)) return false;
    }
    return true;
}

static bool build_redirects(builder *b, conf_site *site)
{
    for (conf_redirect *at = site->redirects; at; at = at->next) {
        skua_status status = skua_site_route(b->site, at->pattern, conf_redirect_handle, at);
        if (!build_judge(b, at->at, status)) return false;
    }
    return true;
}

// Files are for GET, which has HEAD with it.
static bool build_rewrites(builder *b, conf_site *site)
{
    for (conf_rewrite *at = site->rewrites; at; at = at->next) {
        const char *pattern = conf_print(b->findings->memory, "GET %s", at->pattern);
        if (!pattern) return false;
        skua_status status = skua_site_route(b->site, pattern, conf_rewrite_handle, at);
        if (!build_judge(b, at->at, status)) return false;
    }
    return true;
}

static bool build_pages(builder *b, conf_site *site)
{
    atomic_store(&site->shared.is_closed, site->closed_by && access(site->closed_by, F_OK) == 0);
    return !site->has_pages ||
           build_judge(b, site->at, skua_site_on_error(b->site, "/", conf_response_error, site));
}

static bool build_archives(builder *b, conf_site *site)
{
    conf_archived *archived = conf_take(b->findings->memory, sizeof *archived);
    const skua_middleware around = { .before = conf_archive_before, .user = archived };
    if (!archived) return false;
    *archived = (conf_archived){ b->from, site };
    return build_use(b, site->at, &around);
}

static bool build_around(builder *b, conf_site *site)
{
    const skua_middleware fields = { .before = conf_response_before,
                                     .head = conf_response_head,
                                     .end = site->has_log_rules ? conf_response_end : NULL,
                                     .user = site };
    const skua_middleware preflight = { .before = conf_preflight_before, .user = site };
    const skua_middleware preload = { .before = conf_preload_before,
                                      .head = conf_preload_head,
                                      .user = site };
    const skua_middleware canonical = { .before = conf_canonical_before, .user = site };
    const skua_middleware counts = tops_middleware(site->hosts);
    bool is_watched = b->from->status != NULL;
    return build_pages(b, site) && (!is_watched || build_use(b, site->at, &counts)) &&
           build_use(b, site->at, &fields) && build_limits(b, site) &&
           (!site->has_origins || build_use(b, site->at, &preflight)) &&
           (!site->canonical || build_use(b, site->at, &canonical)) && build_locks(b, site) &&
           (!site->has_preloads || build_use(b, site->at, &preload)) &&
           (!site->has_archives || build_archives(b, site));
}

static bool build_site(builder *b, conf_site *site)
{
    const skua_site_desc desc = { .hosts = site->hosts, .release = conf_drop, .user = b->from };
    b->around = 0;
    b->site = skua_site_new(b->server, &desc);
    if (!b->site) b->findings->memory->is_out = true;
    if (!b->site) return false;
    (void)conf_hold(b->from);
    b->built[b->count++] = b->site;
    return build_around(b, site) && build_redirects(b, site) && build_rewrites(b, site) &&
           build_uploads(b, site) && build_roots(b, site);
}

// A site that failed does not hide the faults of the others.
static bool build_all(builder *b)
{
    bool built = true;
    b->built = conf_take(b->findings->memory, b->from->site_count * sizeof *b->built);
    for (conf_site *site = b->from->sites; site && b->built; site = site->next)
        built = build_site(b, site) && built;
    b->site = NULL;
    return b->built && built;
}

// Hosts have been looked at by the check.
static bool build_put(const builder *b)
{
    skua_status status = skua_sites_replace(b->server, b->built, b->count);
    if (status) b->findings->memory->is_out = true;
    return !status;
}

bool conf_build_sites(conf *from, skua_server *server)
{
    builder b = { .from = from, .server = server, .findings = &from->findings };
    if (build_all(&b) && build_put(&b)) return true;
    for (unsigned i = 0; i < b.count; i++)
        skua_site_free(b.built[i]);
    return false;
}

skua_server *conf_build(conf *from, const skua_config *config)
{
    const skua_middleware misdirected = { .before = conf_misdirected_before };
    skua_server *server = skua_server_new(config);
    bool built = server && !skua_use(server, "/", &misdirected);
    if (!built) from->memory.is_out = true;
    if (built && conf_build_sites(from, server)) return server;
    skua_server_free(server);
    return NULL;
}
