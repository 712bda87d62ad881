// SPDX-License-Identifier: MIT
//
// Responses are not kept, since each handler may say another type and other fields: only the content is. Entries of
// the caches hold it, and are answered to nobody. A note, the entry of a file as it is, remembers the
// codings that did not gain, or they would be tried for each request.

#include "files/forms.h"

#include "base/memory.h"
#include "files/caches.h"
#include "files/siblings.h"

// The responses of entries that nobody gets have this type.
static const char *const forms_type = "application/octet-stream";

static struct {
    struct {
        pthread_mutex_t lock; // of what follows
        site *list;           // one of each server that has any
    } shared;
} forms = { .shared = { .lock = PTHREAD_MUTEX_INITIALIZER } };

// ---- Of servers ----

static site **forms_link(const skua_server *server)
{
    site **link = &forms.shared.list;
    while (*link && (*link)->server != server)
        link = &(*link)->next;
    return link;
}

// The server is freed.
static void forms_drop(void *user)
{
    site *s = user;
    (void)pthread_mutex_lock(&forms.shared.lock);
    *forms_link(s->server) = s->next;
    (void)pthread_mutex_unlock(&forms.shared.lock);
    site_let_go(s);
}

static site *forms_new(skua_server *server)
{
    site *s = memory_zeroed(sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->shared.refs, 1);
    (void)pthread_mutex_init(&s->shared.lock, NULL);
    site_comes();
    s->server = server;
    s->cache_octets_max = SITE_CACHE_OCTETS;
    s->cache_entries_max = SITE_CACHE_ENTRIES;
    bool added = !caches_add(s);
    if (added && !skua_server_on_free(server, forms_drop, s)) return s;
    if (added) skua_local_remove(server, s->local_key);
    site_let_go(s);
    return NULL;
}

cache *forms_of(skua_worker *worker)
{
    skua_server *server = skua_worker_server(worker);
    (void)pthread_mutex_lock(&forms.shared.lock);
    site **link = forms_link(server);
    if (!*link) *link = forms_new(server);
    const site *s = *link;
    (void)pthread_mutex_unlock(&forms.shared.lock);
    return s ? skua_local(worker, s->local_key) : NULL;
}

// ---- Of files ----

static cached *forms_entry(const forms_wish *wish, cached_variant variant)
{
    cache *c = wish->forms;
    cached *found = cache_find(c, cache_hash(c, wish->key), wish->key, variant);
    bool is_same =
        found && file_version_equal(&found->origin.version, &wish->entry->origin.version);
    return is_same ? found : NULL;
}

compressed *forms_find(const forms_wish *wish)
{
    if (!forms_entry(wish, (cached_variant)wish->coding)) return NULL;
    bool is_mine;
    compressed *form = compressed_get(wish->forms->site, cached_path(wish->entry), wish->coding,
                                      &wish->entry->origin.version, &is_mine);
    bool is_ready = form && compressed_state_of(form) == COMPRESSED_READY;
    if (is_ready) cache_count_hit(wish->forms, true);
    else if (form) compressed_unref(form);
    return is_ready ? form : NULL;
}

static cached *forms_note(const forms_wish *wish)
{
    cached *note = forms_entry(wish, CACHED_IDENTITY);
    if (note) return note;
    const cached_source source = {
        .site = wish->forms->site,
        .worker = wish->forms->worker,
        .key = wish->key,
        .path = cached_path(wish->entry),
        .variant = CACHED_IDENTITY,
        .info = &wish->entry->origin.info,
        .type = forms_type,
    };
    if (cached_new_note(&source, wish->entry, &note)) return NULL;
    cache_put(wish->forms, &note);
    return forms_entry(wish, CACHED_IDENTITY);
}

compression_outcome forms_want(const forms_wish *wish, file_waiter *waiter)
{
    cached *note = COMPRESSION_IS_BUILT ? forms_note(wish) : NULL;
    if (!note || !(note->offers & 1U << wish->coding)) return COMPRESSION_NONE;
    return compression_want(wish->forms, note, wish->file, wish->coding, waiter);
}
