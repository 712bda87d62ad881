// SPDX-License-Identifier: MIT
//
// Opening is asynchronous and the request may be gone when it is done, so a lookup is its own
// object and the request is known to it only as long as it lives. Entries are never held across an
// opening, but found again.

#include "files/lookup.h"

#include "base/memory.h"
#include "files/listing_job.h"
#include "files/media.h"
#include "files/site_response.h"

#include <stdio.h>

// A file that shrinks each time it is read is not going to be read; nor will descriptors come back
// for ever.
enum { LOOKUP_TRIES_MAX = 3 };

typedef struct lookup {
    skua_request *request; // NULL: gone
    skua_worker *worker;
    const site *site;
    cache *cache;
    watches watches;
    uint64_t changes;  // their sum, taken before the opening
    int64_t opened_ns; // when it began
    unsigned tries;
    skua_file *file; // NULL: not open
    skua_file_info info;
    char *content; // of a small file, or how a large one begins; NULL: not read
    size_t content_len;
    size_t key_len;  // of path: as it was asked for
    size_t path_len; // what is opened; longer than the key by the name of the index file
    char path[];
} lookup;

static void lookup_close_file(lookup *l)
{
    if (l->file) skua_file_unref(l->file);
    l->file = NULL;
    memory_free(l->content);
    l->content = NULL;
    l->content_len = 0;
}

static void lookup_free(lookup *l)
{
    lookup_close_file(l);
    watches_close(&l->watches, l->site);
    memory_free(l);
}

static bool lookup_is_index(const lookup *l)
{
    return l->path_len != l->key_len;
}

static void lookup_request_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    lookup *l = user;
    l->request = NULL;
}

// ---- What cannot be answered with a file --------------------------------------------------------

static void lookup_log(const lookup *l, skua_status why, const char *then)
{
    char line[512];
    int shown = l->path_len < 400 ? (int)l->path_len : 400;
    int len = snprintf(line, sizeof line, "cannot read %.*s: %s%s", shown, l->path,
                       skua_status_text(why), then);
    if (len < 0) return;
    skua_log(l->site->server,
             slice_make(line, (size_t)len < sizeof line ? (size_t)len : sizeof line - 1));
}

static void lookup_fail(const lookup *l, skua_status why)
{
    switch (why) {
    case SKUA_ENOENT: skua_respond_error(l->request, 404); return;
    case SKUA_EACCES: skua_respond_error(l->request, 403); return;
    case SKUA_ENOMEM:
    case SKUA_ENOFILE:
    case SKUA_ESTATE: // it shrank under every attempt
    case SKUA_ELIMIT:
        lookup_log(l, why, "");
        skua_respond_error(l->request, 503);
        return;
    case SKUA_OK:
    case SKUA_EINVAL:
    case SKUA_EPROTOCOL:
    case SKUA_ECLOSED:
    case SKUA_EEXIST:
    case SKUA_EADDRINUSE:
    case SKUA_EADDRNOTAVAIL:
    case SKUA_EIO:
    case SKUA_EUNSUPPORTED:
        lookup_log(l, why, "");
        skua_respond_error(l->request, 500);
        return;
    }
}

// A directory without an index file: its listing, if the site has those, or nothing.
static void lookup_no_index(const lookup *l)
{
    if (l->site->list) listing_job_start(l->request, l->site, &l->cache->listings);
    else skua_respond_error(l->request, 404);
}

// ---- What can -----------------------------------------------------------------------------------

// A response from a file that is open never needs another opening.
static void lookup_respond(lookup *l, const cached *entry)
{
    if (site_respond_file(l->request, l->cache, entry, l->file) == SITE_RESPONSE_NEEDS_FILE)
        skua_respond_error(l->request, 500);
}

// The entry that was made of the file as it is now.
static cached *lookup_find(const lookup *l)
{
    slice key = slice_make(l->path, l->key_len);
    cached *entry = cache_find(l->cache, cache_hash(l->cache, key), key, CACHED_IDENTITY);
    return entry && cached_is_same(entry, &l->info) ? entry : NULL;
}

// The new entry is served before it is put into the cache, which may drop it at once.
static skua_status lookup_serve(lookup *l)
{
    cached *entry = lookup_find(l);
    if (entry) {
        cached_renew(entry, l->site, l->worker, l->opened_ns, &l->watches, l->changes);
        lookup_respond(l, entry);
        return SKUA_OK;
    }
    bool whole = cached_is_small(l->site, &l->info) || cached_is_hashed(&l->info);
    slice content = slice_make(l->content, l->content_len);
    cached_source source = {
        .site = l->site,
        .worker = l->worker,
        .key = slice_make(l->path, l->key_len),
        .coding = CACHED_IDENTITY,
        .type = media_type(slice_make(l->path, l->path_len), content),
        .file = l->file,
        .info = &l->info,
        .content = whole ? content : slice_make(NULL, 0),
    };
    cached *made;
    skua_status status = cached_new(&source, &made);
    if (status) return status;
    cached_renew(made, l->site, l->worker, l->opened_ns, &l->watches, l->changes);
    lookup_respond(l, made);
    cache_put(l->cache, &made);
    return SKUA_OK;
}

// Descriptors have run out, and the file was found good a short time ago: it is served as it was
// then. A part of a small file would be read from the file, so it is answered whole.
static bool lookup_serve_unseen(const lookup *l, skua_status why)
{
    slice key = slice_make(l->path, l->key_len);
    cached *entry = why == SKUA_ENOFILE
                        ? cache_find(l->cache, cache_hash(l->cache, key), key, CACHED_IDENTITY)
                        : NULL;
    if (!entry || !cached_stretch(entry, skua_worker_now_ns(l->worker))) return false;
    lookup_log(l, why, "; it is served as it was");
    if (l->request &&
        site_respond_file(l->request, l->cache, entry, NULL) == SITE_RESPONSE_NEEDS_FILE)
        skua_respond_prepared(l->request, entry->ok);
    return true;
}

static void lookup_open(lookup *l);

// Whether it is worth another try: the file shrank while it was read, or our own cache may give
// descriptors back.
static bool lookup_can_retry(lookup *l, skua_status why)
{
    if (++l->tries >= LOOKUP_TRIES_MAX) return false;
    return why == SKUA_ESTATE || (why == SKUA_ENOFILE && cache_evict(l->cache));
}

// Only the directory of that name is one that may begin with ".".
static bool lookup_is_hidden_file(const lookup *l)
{
    slice path = slice_make(l->path, l->path_len);
    return !l->site->dotfiles && slice_equal(path, SKUA_SLICE(".well-known"));
}

// The response, or SKUA_ESTATE and the like when there is none yet.
static skua_status lookup_outcome(lookup *l, skua_status status)
{
    if (status) return status;
    switch (l->info.kind) {
    case SKUA_FILE_REGULAR: return lookup_is_hidden_file(l) ? SKUA_ENOENT : lookup_serve(l);
    case SKUA_FILE_DIRECTORY:
        if (lookup_is_index(l)) return SKUA_ENOENT;
        site_respond_slash(l->request);
        return SKUA_OK;
    case SKUA_FILE_OTHER: break;
    }
    return SKUA_EACCES;
}

static void lookup_conclude(lookup *l, skua_status status)
{
    if (l->request) {
        skua_on_end(l->request, NULL, NULL);
        status = lookup_outcome(l, status);
    }
    lookup_close_file(l);
    if (lookup_serve_unseen(l, status)) {
        lookup_free(l);
        return;
    }
    if (l->request && status && lookup_can_retry(l, status)) {
        lookup_open(l);
        return;
    }
    // A file that cannot be opened any more shall not keep its descriptor.
    if (status) cache_forget(l->cache, slice_make(l->path, l->key_len), CACHED_IDENTITY);
    if (l->request && status == SKUA_ENOENT && lookup_is_index(l)) lookup_no_index(l);
    else if (l->request && status) lookup_fail(l, status);
    lookup_free(l);
}

// ---- Watching, opening, reading -----------------------------------------------------------------

// Octets that were appended since the opening are left for the next one. When the file has become
// shorter, what is left of it cannot be sent under the validators of the longer one.
static void lookup_loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)worker;
    lookup *l = user;
    if (!status && octets < l->content_len) status = SKUA_ESTATE;
    lookup_conclude(l, status);
}

// How many octets are read before it is answered: all of a small file, and the beginning of one
// whose name does not tell its type.
static size_t lookup_needs_content(const lookup *l)
{
    if (!l->request || l->info.kind != SKUA_FILE_REGULAR || lookup_find(l)) return 0;
    if (cached_is_small(l->site, &l->info) || cached_is_hashed(&l->info))
        return (size_t)l->info.size;
    if (!media_needs_look(slice_make(l->path, l->path_len))) return 0;
    return l->info.size < MEDIA_LOOK_OCTETS ? (size_t)l->info.size : MEDIA_LOOK_OCTETS;
}

static void lookup_opened(skua_worker *worker, skua_status status, skua_file *file,
                          const skua_file_info *info, void *user)
{
    (void)worker;
    lookup *l = user;
    l->file = file;
    if (!status) l->info = *info;
    l->content_len = status ? 0 : lookup_needs_content(l);
    if (!l->content_len) {
        lookup_conclude(l, status);
        return;
    }
    l->content = memory_alloc(l->content_len);
    if (l->content) skua_file_load(l->file, 0, l->content, l->content_len, lookup_loaded, l);
    else lookup_conclude(l, SKUA_ENOMEM);
}

static void lookup_open_file(lookup *l)
{
    slice path = slice_make(l->path, l->path_len);
    l->changes = watches_changes(&l->watches);
    skua_file_open(l->worker, l->site->root, path, lookup_opened, l);
}

static void lookup_watch(void *user)
{
    lookup *l = user;
    watches_open(&l->watches, l->site, slice_make(l->path, l->path_len));
}

static void lookup_watched(skua_worker *worker, void *user)
{
    (void)worker;
    lookup_open_file(user);
}

static void lookup_open(lookup *l)
{
    watches_close(&l->watches, l->site);
    skua_on_end(l->request, lookup_request_ended, l);
    l->opened_ns = skua_worker_now_ns(l->worker);
    if (watches_try(&l->watches, l->site, slice_make(l->path, l->path_len)) ||
        skua_offload(l->worker, lookup_watch, lookup_watched, l)) {
        lookup_open_file(l);
    }
}

static lookup *lookup_new(skua_request *request, const site *s, cache *c, slice name)
{
    bool is_directory = name.len == 0 || name.ptr[name.len - 1] == '/';
    size_t index_len = is_directory ? strlen(s->index) : 0;
    lookup *l = memory_alloc(sizeof *l + name.len + index_len);
    if (!l) return NULL;
    *l = (lookup){
        .request = request,
        .worker = skua_request_worker(request),
        .site = s,
        .cache = c,
        .key_len = name.len,
        .path_len = name.len + index_len,
    };
    if (name.len) memcpy(l->path, name.ptr, name.len);
    if (index_len) memcpy(l->path + name.len, s->index, index_len);
    return l;
}

void lookup_start(skua_request *request, const site *s, cache *c, slice name)
{
    lookup *l = lookup_new(request, s, c, name);
    if (l) lookup_open(l);
    else skua_respond_error(request, 503);
}
