// SPDX-License-Identifier: MIT
//
// Caches as objects of the workers.

#include "files/caches.h"

#include <sys/resource.h>

// An eighth of what the process may open, shared by all sites and workers; none if that is less
// than one.
static unsigned caches_files_max(skua_worker *worker)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 0;
    uint64_t share = (uint64_t)limit.rlim_cur / 8 /
                     skua_server_workers(skua_worker_server(worker)) / site_count();
    return share < SITE_CACHE_ENTRIES_MAX ? (unsigned)share : SITE_CACHE_ENTRIES_MAX;
}

static void *caches_make(skua_worker *worker, void *user)
{
    cache *c = cache_new(site_hold(user), caches_files_max(worker));
    if (!c) site_let_go(user);
    if (!c) return NULL;
    c->listings.worker = c->worker = worker;
    c->figures = worker_cache_figures(worker, false);
    c->made_figures = worker_cache_figures(worker, true);
    return c;
}

static void caches_drop(skua_worker *worker, void *object, void *user)
{
    (void)worker, (void)user;
    cache_let_go(object);
}

static void caches_shrink(skua_worker *worker, void *object, void *user)
{
    (void)worker, (void)user;
    cache_shrink_counted(object);
}

static bool caches_evict(skua_worker *worker, void *object, void *user)
{
    (void)worker, (void)user;
    return cache_evict(object);
}

skua_status caches_add(site *s)
{
    const skua_local_desc desc = {
        .make = caches_make,
        .drop = caches_drop,
        .evict = caches_evict,
        .shrink = caches_shrink,
        .user = s,
    };
    return skua_local_add(s->server, &desc, &s->local_key);
}
