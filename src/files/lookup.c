// SPDX-License-Identifier: MIT
//
// Opening is asynchronous and the request may be gone when it is done, so a lookup is its own
// object and the request is known to it only as long as it lives. Entries are never held across an
// opening, but found again.

#include "files/lookup.h"

#include "base/memory.h"
#include "files/compression.h"
#include "files/content_tag.h"
#include "files/listing_job.h"
#include "files/media.h"
#include "files/siblings.h"
#include "files/site_response.h"

// A file that shrinks each time it is read is not going to be read; nor will descriptors come back
// for ever.
enum { LOOKUP_TRIES_MAX = 3 };

// A flood of names that are not there does not look for a page each time.
static const int64_t lookup_pageless_ns = 1000000000;

// The files that a name may lead to, in the order in which they are tried.
typedef enum lookup_stage {
    LOOKUP_NAMED,     // that name's, or the index of a directory
    LOOKUP_SUFFIXED,  // that name's with ".html" behind it
    LOOKUP_TRIED,     // those that the site has tried for such names
    LOOKUP_FALLBACK,  // one for all that is not found
    LOOKUP_ERROR_PAGE // one that says so
} lookup_stage;

typedef struct lookup {
    // first, so that it is the lookup; of a request while its file is compressed or hashed
    file_waiter waiter;
    skua_request *request; // NULL: gone
    bool follows;          // it is told of the request's end
    skua_worker *worker;
    const site *site;
    cache *cache;
    watches watches;
    uint64_t changes;  // their sum, taken before the opening
    int64_t opened_ns; // when it began
    unsigned tries;
    unsigned tried; // of the site's tries
    lookup_stage stage;
    cached_variant variant; // of what is being opened
    bool is_index;          // the name is a directory's, path its index file's
    bool is_asset;      // the last segment of the name has a ".": it is no page of an application
    bool was_directory; // the name without its "/"
    bool goes_on;       // with a sibling
    bool is_alone;      // no sibling could be opened
    bool has_waited;    // for its compression, and does not do so again
    unsigned hashings;  // that it has waited for
    char tag[CONTENT_TAG_OCTETS]; // of a large file; empty: none
    unsigned siblings;            // that there are
    unsigned probed;              // codings of the site's order that were looked for
    const char *type;             // of the file that siblings hold
    skua_file *file;              // NULL: not open
    skua_file_info info;
    char *content; // of a small file, or how a large one begins; NULL: not read
    size_t content_len;
    kept_file *kept; // all of a larger one that is to be kept in memory, and being read; NULL: none
    size_t key_len;  // of path: as it was asked for
    size_t path_len; // of the file; longer than the key by "index.html" or ".html"
    slice
        name; // as it was asked for, without a "/" at its end, behind path; of sites that try others
    char path[]; // a sibling's suffix is behind it while that is opened
} lookup;

static void lookup_close_file(lookup *l)
{
    if (l->file) skua_file_unref(l->file);
    l->file = NULL;
    memory_free(l->content);
    l->content = NULL;
    l->content_len = 0;
    if (l->kept) kept_free(l->kept);
    l->kept = NULL;
}

static void lookup_free(lookup *l)
{
    lookup_close_file(l);
    watches_close(&l->watches, l->site);
    cache_let_go(l->cache);
    memory_free(l);
}

static bool lookup_is_coded(const lookup *l)
{
    return l->variant != CACHED_IDENTITY && l->variant != CACHED_ERROR_PAGE;
}

static slice lookup_key(const lookup *l)
{
    return slice_make(l->path, l->key_len);
}

static slice lookup_path(const lookup *l)
{
    return slice_make(l->path, l->path_len);
}

static cached *lookup_entry(const lookup *l, cached_variant variant)
{
    slice key = lookup_key(l);
    return cache_find(l->cache, cache_hash(l->cache, key), key, variant);
}

static void lookup_request_ended(skua_request *request, skua_end how, void *user)
{
    (void)request, (void)how;
    lookup *l = user;
    l->request = NULL;
}

static bool lookup_follow(lookup *l)
{
    if (!l->follows) l->follows = !skua_request_follow(l->request, lookup_request_ended, l);
    return l->follows;
}

static void lookup_unfollow(lookup *l)
{
    if (l->follows) skua_request_unfollow(l->request, lookup_request_ended, l);
    l->follows = false;
}

static void lookup_open(lookup *l);

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
    cached *entry = lookup_entry(l, l->variant);
    int64_t unix_ns = skua_worker_unix_ns(l->worker);
    return entry && cached_is_same(entry, &l->info, unix_ns) ? entry : NULL;
}

// Serves what was compressed of this version, if it is ready.
static bool lookup_serve_made(const lookup *l, const cached *entry, content_coding coding)
{
    cached *made = lookup_entry(l, (cached_variant)coding);
    bool done = made && cached_is_of(made, entry) &&
                site_respond_file(l->request, l->cache, made, NULL) == SITE_RESPONSE_DONE;
    if (done && !l->has_waited) cache_count_hit(l->cache, true);
    return done;
}

static void lookup_awaited(file_waiter *waiter);

// The request is held, since a client that sends no more still waits for this.
static void lookup_wait(lookup *l)
{
    skua_request_hold(l->request);
    l->waiter.request = l->request;
}

// Serves the file compressed, or waits until it is; or opens it first. Returns false if it is sent as it is.
static bool lookup_compress(lookup *l, cached *entry, content_coding coding)
{
    if (!COMPRESSION_IS_BUILT) return false;
    if (lookup_serve_made(l, entry, coding)) return true;
    if (l->has_waited) return false;
    l->has_waited = l->file != NULL;
    if (!l->file) {
        l->goes_on = true;
        return true;
    }
    l->waiter.done = lookup_awaited;
    switch (compression_want(l->cache, entry, l->file, coding, &l->waiter)) {
    case COMPRESSION_IS_READY: l->goes_on = true; return true; // the entry may have been dropped
    case COMPRESSION_WAITS: lookup_wait(l); return true;
    case COMPRESSION_NONE: break;
    }
    return false;
}

// Serves the file in that coding: a sibling, if it is ready or can be opened, or what is compressed here.
static bool lookup_serve_in(lookup *l, cached *entry, content_coding coding)
{
    if (!(entry->siblings & 1U << coding)) return lookup_compress(l, entry, coding);
    cached *sibling = lookup_entry(l, (cached_variant)coding);
    bool ready = sibling && cached_is_fresh(sibling, skua_worker_now_ns(l->worker));
    if (ready && site_respond_file(l->request, l->cache, sibling, NULL) == SITE_RESPONSE_DONE) {
        cache_count_hit(l->cache, false);
        return true;
    }
    l->variant = (cached_variant)coding;
    l->type = entry->origin.type;
    l->goes_on = true;
    return true;
}

// Serves the representation that the client wants more than the entry, or says that there is none that it takes.
// Returns false if the entry itself is what it gets.
static bool lookup_serve_sibling(lookup *l, cached *entry)
{
    if (l->variant != CACHED_IDENTITY) return false;
    content_coding coding = siblings_choose(l->request, l->cache, entry);
    if (coding == CODING_IDENTITY) return false;
    bool may_be = coding != CODING_COUNT && !l->is_alone;
    if (may_be && lookup_serve_in(l, entry, coding)) return true;
    if (!siblings_refuse_identity(l->request, l->cache)) return false;
    site_respond_unacceptable(l->request, l->site, entry);
    return true;
}

// is_known: the entry was in the cache, and the file is still the same.
static void lookup_serve_entry(lookup *l, cached *entry, bool is_known)
{
    cached_renew(entry, l->site, l->worker, l->opened_ns, &l->watches, l->changes);
    entry->siblings = (uint8_t)l->siblings;
    if (lookup_serve_sibling(l, entry)) return;
    if (is_known) cache_count_hit(l->cache, false);
    lookup_respond(l, entry);
}

// content: how the file begins. A sibling has the type of its file.
static const char *lookup_type(const lookup *l, slice content)
{
    if (lookup_is_coded(l)) return l->type;
    const char *own = site_type(l->site, lookup_path(l));
    return own ? own : media_type(lookup_path(l), content);
}

// The new entry is served before it is put into the cache, which may drop it at once.
static skua_status lookup_serve(lookup *l)
{
    cached *entry = lookup_find(l);
    if (entry && !l->kept) {
        lookup_serve_entry(l, entry, true);
        return SKUA_OK;
    }
    bool whole = cached_is_small(l->site, &l->info) || cached_is_hashed(l->site, &l->info);
    slice content = slice_make(l->content, l->content_len);
    if (l->kept) content = slice_make(l->kept->octets, MEDIA_LOOK_OCTETS);
    cached_source source = {
        .site = l->site,
        .worker = l->worker,
        .key = lookup_key(l),
        .path = lookup_path(l),
        .variant = l->variant,
        .type = lookup_type(l, content),
        .file = l->file,
        .info = &l->info,
        .content = whole ? content : slice_make(NULL, 0),
        .tag = slice_of(l->tag),
        .kept = l->kept,
    };
    cached *made;
    skua_status status = cached_new(&source, &made);
    if (status) return status;
    l->kept = NULL;
    lookup_serve_entry(l, made, false);
    cache_put(l->cache, &made);
    return SKUA_OK;
}

// Descriptors have run out, and the file was found good a short time ago: it is served as it was
// then. A part of a small file would be read from the file, so it is answered whole.
static bool lookup_serve_unseen(const lookup *l, skua_status why)
{
    cached *entry = why == SKUA_ENOFILE ? lookup_entry(l, l->variant) : NULL;
    if (!entry || !cached_stretch(entry, skua_worker_now_ns(l->worker))) return false;
    site_response_log(l->site, lookup_path(l), why, "; it is served as it was");
    if (l->request &&
        site_respond_file(l->request, l->cache, entry, NULL) == SITE_RESPONSE_NEEDS_FILE)
        site_respond_whole(l->request, l->site, entry);
    cache_count_hit(l->cache, false);
    return true;
}

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
    return !l->site->dotfiles && slice_equal(lookup_path(l), SKUA_SLICE(".well-known"));
}

// The response, or SKUA_ESTATE and the like when there is none yet.
static skua_status lookup_outcome(lookup *l, skua_status status)
{
    if (status) return status;
    switch (l->info.kind) {
    case SKUA_FILE_REGULAR: return lookup_is_hidden_file(l) ? SKUA_ENOENT : lookup_serve(l);
    case SKUA_FILE_DIRECTORY:
        if (l->is_index || l->stage != LOOKUP_NAMED || lookup_is_coded(l)) return SKUA_ENOENT;
        if (l->site->clean_urls) {
            l->was_directory = true;
            return SKUA_ENOENT;
        }
        site_respond_slash(l->request);
        return SKUA_OK;
    case SKUA_FILE_OTHER: break;
    }
    return SKUA_EACCES;
}

// ---- What comes next when nothing is there ------------------------------------------------------

// A file that is not there any more shall not keep its descriptor.
static void lookup_forget(const lookup *l)
{
    if (l->opened_ns) cache_forget(l->cache, lookup_key(l), l->variant);
}

static void lookup_add(lookup *l, const char *text, size_t len)
{
    if (len) memcpy(l->path + l->path_len, text, len);
    l->path_len += len;
}

// Makes path that file's, which is its own key. path: may have SITE_TRY_PATH in it.
static void lookup_replace(lookup *l, const char *path, cached_variant variant)
{
    lookup_forget(l);
    const char *brace = l->name.ptr ? strstr(path, SITE_TRY_PATH) : NULL;
    size_t before = brace ? (size_t)(brace - path) : strlen(path);
    l->path_len = 0;
    lookup_add(l, path, before);
    if (brace) {
        const char *rest = brace + sizeof SITE_TRY_PATH - 1;
        lookup_add(l, l->name.ptr, l->name.len);
        lookup_add(l, rest, strlen(rest));
    }
    l->key_len = l->path_len;
    l->variant = variant;
    l->is_index = false;
}

// The directory itself has no name that could be a part of another one.
static bool lookup_try(lookup *l, const char *path)
{
    if (!l->name.len && strstr(path, SITE_TRY_PATH)) return false;
    lookup_replace(l, path, CACHED_IDENTITY);
    return true;
}

// Whether there may be a file at that stage; if so, path is its path.
static bool lookup_enter(lookup *l)
{
    const site *s = l->site;
    switch (l->stage) {
    case LOOKUP_SUFFIXED:
        if (!s->clean_urls || l->is_index) return false;
        memcpy(l->path + l->path_len, ".html", 5);
        l->path_len += 5;
        return true;
    case LOOKUP_TRIED:
        if (l->tried == s->tries_count) return false;
        return lookup_try(l, s->tries[l->tried++]);
    case LOOKUP_FALLBACK:
        if (!s->fallback || l->is_asset) return false;
        lookup_replace(l, s->fallback, CACHED_IDENTITY);
        return true;
    case LOOKUP_ERROR_PAGE:
        if (!s->not_found || skua_worker_now_ns(l->worker) < l->cache->pageless_ns) return false;
        lookup_replace(l, s->not_found, CACHED_ERROR_PAGE);
        return true;
    case LOOKUP_NAMED: break;
    }
    return false;
}

// A page for all that is not found is asked for with each name that is not found.
static bool lookup_serve_ready(lookup *l)
{
    cached *entry = l->stage >= LOOKUP_TRIED ? lookup_entry(l, l->variant) : NULL;
    if (!entry || !cached_is_fresh(entry, skua_worker_now_ns(l->worker))) return false;
    l->siblings = entry->siblings;
    if (!lookup_serve_sibling(l, entry) &&
        site_respond_file(l->request, l->cache, entry, NULL) == SITE_RESPONSE_NEEDS_FILE)
        return false;
    if (!l->goes_on) cache_count_hit(l->cache, false);
    return !l->goes_on;
}

// Responds to a request whose file is not there, or opens the next one that may stand for it.
static void lookup_go_on(lookup *l)
{
    if (l->stage == LOOKUP_NAMED && l->is_index && l->site->list) {
        listing_job_start(l->request, l->site, l->cache);
        lookup_free(l);
        return;
    }
    if (l->stage == LOOKUP_ERROR_PAGE)
        l->cache->pageless_ns = skua_worker_now_ns(l->worker) + lookup_pageless_ns;
    bool found = false;
    lookup_stage last = l->was_directory ? LOOKUP_SUFFIXED : LOOKUP_ERROR_PAGE;
    while (!found && l->stage < last) {
        bool has_more = l->stage == LOOKUP_TRIED && l->tried < l->site->tries_count;
        if (!has_more) l->stage++;
        found = lookup_enter(l);
    }
    if (found && !lookup_serve_ready(l)) {
        lookup_open(l);
        return;
    }
    if (!found) {
        lookup_forget(l);
        if (l->was_directory) site_respond_slash(l->request);
        else skua_respond_error(l->request, 404);
    }
    lookup_free(l);
}

// Whether it goes on with a sibling, or without one, or again.
static bool lookup_opens_again(lookup *l, skua_status status)
{
    if (!status) return l->goes_on;
    if (!lookup_is_coded(l)) return lookup_can_retry(l, status);
    cache_forget(l->cache, lookup_key(l), l->variant);
    l->variant = CACHED_IDENTITY;
    l->is_alone = true;
    return true;
}

static void lookup_conclude(lookup *l, skua_status status)
{
    if (l->request) {
        lookup_unfollow(l);
        status = lookup_outcome(l, status);
    }
    lookup_close_file(l);
    if (l->waiter.request) return;
    if (lookup_serve_unseen(l, status)) {
        lookup_free(l);
        return;
    }
    if (l->request && lookup_opens_again(l, status)) {
        lookup_open(l);
        return;
    }
    if (l->request && (status == SKUA_ENOENT || (status && l->stage == LOOKUP_ERROR_PAGE))) {
        lookup_go_on(l);
        return;
    }
    if (status) lookup_forget(l);
    if (l->request && status) site_respond_failure(l->request, l->site, lookup_path(l), status);
    lookup_free(l);
}

// ---- Siblings -----------------------------------------------------------------------------------

static void lookup_probe(lookup *l);

// One that is older than the file holds what was there before.
static void lookup_probed(skua_worker *worker, skua_status status, skua_file *file,
                          const skua_file_info *info, void *user)
{
    (void)worker;
    lookup *l = user;
    content_coding coding = l->site->order[l->probed++];
    bool is_good = !status && info->kind == SKUA_FILE_REGULAR && info->mtime_ns >= l->info.mtime_ns;
    if (is_good) l->siblings |= 1U << coding;
    if (file) skua_file_unref(file);
    lookup_probe(l);
}

// The path of the file's sibling of that coding. path has room for the suffix.
static slice lookup_sibling(lookup *l, content_coding coding)
{
    slice suffix = siblings_suffix(coding);
    memcpy(l->path + l->path_len, suffix.ptr, suffix.len);
    return slice_make(l->path, l->path_len + suffix.len);
}

static void lookup_probe(lookup *l)
{
    bool more = l->request && l->site->precompressed && l->variant == CACHED_IDENTITY &&
                !l->is_alone && l->info.kind == SKUA_FILE_REGULAR;
    if (!more || l->probed == l->site->order_count) {
        lookup_conclude(l, SKUA_OK);
        return;
    }
    slice path = lookup_sibling(l, l->site->order[l->probed]);
    skua_file_open(l->worker, l->site->root, path, lookup_probed, l);
}

// ---- Watching, opening, reading -----------------------------------------------------------------

// Octets that were appended since the opening are left for the next one. When the file has become
// shorter, what is left of it cannot be sent under the validators of the longer one.
static void lookup_loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)worker;
    lookup *l = user;
    if (!status && octets < l->content_len) status = SKUA_ESTATE;
    if (status) lookup_conclude(l, status);
    else lookup_probe(l);
}

// Without it the file is sent from its descriptor, as before.
static void lookup_kept(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)worker;
    lookup *l = user;
    bool is_whole = !status && octets == l->kept->len;
    if (!is_whole) {
        kept_free(l->kept);
        l->kept = NULL;
    }
    lookup_probe(l);
}

// Whether the file has been asked for often enough to be read for all who ask next. One of these reads it.
static bool lookup_keeps(lookup *l)
{
    cached *entry = l->request ? lookup_find(l) : NULL;
    bool is_secure = entry && skua_request_is_secure(l->request);
    if (!entry || !entry->is_wanted || !cached_may_be_kept(l->site, entry, is_secure)) return false;
    entry->is_wanted = false;
    return !cached_is_hashed_apart(l->site, &l->info) || content_tag_find(&l->info, true, l->tag);
}

// How many octets are read before it is answered: all of a small file, and the beginning of one
// whose name does not tell its type.
static size_t lookup_needs_content(const lookup *l)
{
    if (!l->request || l->info.kind != SKUA_FILE_REGULAR || lookup_find(l)) return 0;
    if (cached_is_small(l->site, &l->info) || cached_is_hashed(l->site, &l->info))
        return (size_t)l->info.size;
    if (lookup_is_coded(l) || !media_needs_look(lookup_path(l))) return 0;
    return l->info.size < MEDIA_LOOK_OCTETS ? (size_t)l->info.size : MEDIA_LOOK_OCTETS;
}

// Finds the tag of a large file, or waits until it is hashed. Returns whether it waits.
static bool lookup_hash(lookup *l)
{
    bool is_settled = cached_is_settled(&l->info, skua_worker_unix_ns(l->worker));
    bool is_wanted = l->request && l->info.kind == SKUA_FILE_REGULAR &&
                     cached_is_hashed_apart(l->site, &l->info) && l->variant != CACHED_ERROR_PAGE &&
                     !lookup_find(l);
    l->tag[0] = '\0';
    if (!is_wanted || content_tag_find(&l->info, is_settled, l->tag)) return false;
    if (l->hashings++ >= CONTENT_TAG_WAITS_MAX) return false;
    l->waiter.done = lookup_awaited;
    if (!content_tag_want(&l->cache->hashes, l->worker, l->file, &l->info, is_settled, &l->waiter))
        return false;
    lookup_close_file(l);
    lookup_wait(l);
    return true;
}

static void lookup_opened(skua_worker *worker, skua_status status, skua_file *file,
                          const skua_file_info *info, void *user)
{
    (void)worker;
    lookup *l = user;
    l->file = file;
    if (!status) l->info = *info;
    if (!status && lookup_hash(l)) return;
    l->content_len = status ? 0 : lookup_needs_content(l);
    if (status) {
        lookup_conclude(l, status);
        return;
    }
    if (lookup_keeps(l)) l->kept = kept_new(l->worker, (size_t)l->info.size);
    if (l->kept) {
        skua_file_load(l->file, 0, l->kept->octets, l->kept->len, lookup_kept, l);
        return;
    }
    if (!l->content_len) {
        lookup_probe(l);
        return;
    }
    l->content = memory_alloc(l->content_len);
    if (l->content) skua_file_load(l->file, 0, l->content, l->content_len, lookup_loaded, l);
    else lookup_conclude(l, SKUA_ENOMEM);
}

static void lookup_open_file(lookup *l)
{
    bool coded = lookup_is_coded(l);
    slice path = coded ? lookup_sibling(l, (content_coding)l->variant) : lookup_path(l);
    l->changes = watches_changes(&l->watches);
    skua_file_open(l->worker, l->site->root, path, lookup_opened, l);
}

// Whatever has come of it, the file is looked at again: it may have changed meanwhile. A request that is held and has
// ended has no connection.
static void lookup_awaited(file_waiter *waiter)
{
    lookup *l = (lookup *)waiter;
    skua_request *held = l->waiter.request;
    l->waiter.request = NULL;
    if (!skua_request_connection(held)) l->request = NULL;
    if (l->request) lookup_open(l);
    else lookup_free(l);
    skua_request_drop(held);
}

static void lookup_watch(void *user)
{
    lookup *l = user;
    watches_open(&l->watches, l->site, lookup_path(l));
}

static void lookup_watched(skua_worker *worker, void *user)
{
    (void)worker;
    lookup_open_file(user);
}

static void lookup_open(lookup *l)
{
    watches_close(&l->watches, l->site);
    l->goes_on = false;
    l->siblings = 0;
    l->probed = 0;
    if (!lookup_follow(l)) {
        skua_respond_error(l->request, 503);
        lookup_free(l);
        return;
    }
    l->opened_ns = skua_worker_now_ns(l->worker);
    if (watches_try(&l->watches, l->site, lookup_path(l)) ||
        skua_offload(l->worker, lookup_watch, lookup_watched, l)) {
        lookup_open_file(l);
    }
}

// The octets of the longest path that the name may lead to.
static size_t lookup_room(const site *s, slice name, size_t index_len)
{
    size_t room = name.len + index_len;
    size_t clean = s->clean_urls ? name.len + 5 : 0;
    size_t fallback = s->fallback ? strlen(s->fallback) : 0;
    size_t not_found = s->not_found ? strlen(s->not_found) : 0;
    for (size_t i = 0; i < s->tries_count; i++) {
        size_t tried = strlen(s->tries[i]) + name.len;
        if (tried > room) room = tried;
    }
    if (clean > room) room = clean;
    if (fallback > room) room = fallback;
    if (not_found > room) room = not_found;
    return room + SIBLINGS_SUFFIX_OCTETS;
}

static bool lookup_is_asset(slice name)
{
    size_t begin = name.len;
    while (begin && name.ptr[begin - 1] != '/')
        begin--;
    return name.len > begin && memchr(name.ptr + begin, '.', name.len - begin);
}

static lookup *lookup_new(skua_request *request, const site *s, cache *c, slice name)
{
    bool is_directory = name.len == 0 || name.ptr[name.len - 1] == '/';
    size_t index_len = is_directory ? strlen(s->index) : 0;
    size_t room = lookup_room(s, name, index_len), kept = s->tries_count ? name.len + 1 : 0;
    lookup *l = memory_alloc(sizeof *l + room + kept);
    if (!l) return NULL;
    *l = (lookup){
        .request = request,
        .worker = skua_request_worker(request),
        .site = s,
        .cache = cache_hold(c),
        .key_len = name.len,
        .path_len = name.len + index_len,
        .is_index = is_directory,
        .is_asset = lookup_is_asset(name),
    };
    if (name.len) memcpy(l->path, name.ptr, name.len);
    if (index_len) memcpy(l->path + name.len, s->index, index_len);
    if (kept) {
        l->name = slice_make(l->path + room, name.len - (is_directory && name.len));
        if (l->name.len) memcpy(l->path + room, name.ptr, l->name.len);
    }
    return l;
}

void lookup_start(skua_request *request, const site *s, cache *c, slice name)
{
    lookup *l = lookup_new(request, s, c, name);
    if (l) lookup_open(l);
    else skua_respond_error(request, 503);
}

void lookup_nothing(skua_request *request, const site *s, cache *c)
{
    lookup *l = s->not_found ? lookup_new(request, s, c, SKUA_SLICE("-")) : NULL;
    if (!l) {
        skua_respond_error(request, 404);
        return;
    }
    l->stage = LOOKUP_FALLBACK; // which is over
    lookup_go_on(l);
}
