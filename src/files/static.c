// SPDX-License-Identifier: MIT
//
// Serving a directory: the route and its handler. A file that is ready
// and fresh is answered without a system call and without memory: one hash, one comparison, one
// response made long ago.

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "files/caches.h"
#include "files/listing_page.h"
#include "files/lookup.h"
#include "files/place.h"
#include "files/siblings.h"
#include "files/site.h"
#include "files/site_response.h"
#include "http/preconditions.h"

#include <stdio.h>

enum {
    SITE_SMALL_OCTETS = 32768,
    SITE_KEPT_OCTETS = 131072,
    SITE_KEPT_CLEAR_OCTETS = 65536,
    SITE_KEPT_SHARE = 16, // of the cache that one kept file may take
    SITE_LISTINGS_OCTETS = 16 << 20
};

// ---- Requests ----

static void static_serve(skua_request *request, const site *s, slice name)
{
    cache *c = skua_local(skua_request_worker(request), s->local_key);
    if (!c) {
        skua_respond_error(request, 503);
        return;
    }
    if (!skua_request_path_is_plain(request)) {
        lookup_nothing(request, s, c);
        return;
    }
    uint64_t hash = cache_hash(c, name);
    int64_t now_ns = skua_worker_now_ns(skua_request_worker(request));
    cached *entry = cache_find(c, hash, name, CACHED_IDENTITY), *ready = entry;
    content_coding coding = entry ? siblings_choose(request, c, entry) : CODING_IDENTITY;
    bool fresh = entry && cached_is_fresh(entry, now_ns);
    if (fresh && coding == CODING_COUNT) {
        site_respond_unacceptable(request, s, entry);
        return;
    }
    if (coding != CODING_IDENTITY) {
        ready = cache_find(c, hash, name, (cached_variant)coding);
        fresh = fresh && ready && (cached_is_of(ready, entry) || cached_is_fresh(ready, now_ns));
    }
    if (fresh && cached_may_be_kept(s, ready, skua_request_is_secure(request)))
        ready->is_wanted = true;
    bool is_made = fresh && ready->is_made; // the response may drive it out
    if (fresh && site_respond_file(request, c, ready, NULL) == SITE_RESPONSE_DONE) {
        cache_count_hit(c, is_made);
        return;
    }
    if (!entry && site_hides(s, name)) lookup_nothing(request, s, c);
    else lookup_start(request, s, c, name);
}

static void static_handle(skua_request *request, void *user)
{
    const site *s = user;
    static_serve(request, s, slice_from(skua_request_path(request), s->prefix_len));
}

// ---- Routes ----

static void site_release(void *user)
{
    site_let_go(user);
}

// No request of the skua_site is left. Openings that nobody waits for any more keep the worker's cache.
static void site_withdraw(void *user)
{
    site *s = user;
    skua_local_remove(s->server, s->local_key);
    site_let_go(s);
}

static bool site_is_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static bool site_is_field_value(const char *value)
{
    for (; *value; value++) {
        if ((unsigned char)*value < 0x20 && *value != '\t') return false;
        if (*value == 0x7f) return false;
    }
    return true;
}

static bool site_are_types(const skua_directory_config *config)
{
    if (config->types_count > SITE_TYPES_MAX || (config->types_count && !config->types))
        return false;
    for (size_t i = 0; i < config->types_count; i++) {
        const skua_media *media = &config->types[i];
        bool is_given = media->ending && *media->ending && media->type && *media->type;
        if (!is_given || !site_is_field_value(media->type)) return false;
    }
    return true;
}

// A path of a file beneath the root.
static bool site_is_path(const char *path)
{
    slice left = slice_of(path);
    while (left.len) {
        const char *slash = memchr(left.ptr, '/', left.len);
        size_t len = slash ? (size_t)(slash - left.ptr) : left.len;
        bool is_dots = (len == 1 || len == 2) && memcmp(left.ptr, "..", len) == 0;
        if (len == 0 || is_dots) return false;
        if (!slash) return true;
        left = slice_from(left, len + 1);
    }
    return false;
}

static bool site_are_tries(const skua_directory_config *config)
{
    if (config->tries_count > SITE_TRIES_MAX || (config->tries_count && !config->tries))
        return false;
    for (size_t i = 0; i < config->tries_count; i++) {
        const char *one = config->tries[i], *brace = one ? strchr(one, '{') : NULL;
        bool is_right = !brace || (strncmp(brace, SITE_TRY_PATH, sizeof SITE_TRY_PATH - 1) == 0 &&
                                   !strchr(brace + 1, '{'));
        if (!one || !is_right || !site_is_path(one)) return false;
    }
    return true;
}

static skua_status site_check_paths(const files_place *to, const skua_directory_config *config)
{
    if (config->index && !site_is_name(config->index)) {
        return place_fail(to, SKUA_EINVAL, config->index,
                          "the index must be the name of a file, without \"/\"");
    }
    if (config->fallback && !site_is_path(config->fallback)) {
        return place_fail(to, SKUA_EINVAL, config->fallback,
                          "the fallback must be the path of a file below the directory");
    }
    if (config->not_found && *config->not_found && !site_is_path(config->not_found)) {
        return place_fail(to, SKUA_EINVAL, config->not_found,
                          "the page for 404 must be the path of a file below the directory");
    }
    if (!site_are_tries(config)) {
        return place_fail(
            to, SKUA_EINVAL, "tries",
            "are at most 16 paths below the directory, each with {path} once at most");
    }
    return SKUA_OK;
}

static skua_status site_check_values(const files_place *to, const skua_directory_config *config)
{
    if ((unsigned)config->links > SKUA_LINKS_ALL) {
        return place_fail(to, SKUA_EINVAL, "links", "is none of skua_links");
    }
    if ((unsigned)config->etags > SKUA_ETAGS_CONTENT) {
        return place_fail(to, SKUA_EINVAL, "etags", "is none of skua_etags");
    }
    if (!site_are_types(config)) {
        return place_fail(to, SKUA_EINVAL, "types",
                          "are at most 64, each an ending and a media type");
    }
    if (config->ranges_max > RANGES_MAX) {
        return place_fail(to, SKUA_EINVAL, "ranges_max", "is more than 16");
    }
    if (!config->list_script != !config->list_script_hash ||
        (config->list_script_hash && strpbrk(config->list_script_hash, "'; \r\n"))) {
        return place_fail(to, SKUA_EINVAL, "list_script",
                          "goes with its hash, sha256-… without quotes, and with nothing else");
    }
    return SKUA_OK;
}

static skua_status site_check(const files_place *to, const char *pattern,
                              const skua_directory_config *config)
{
    if (!place_pattern_path(pattern)) {
        return place_fail(to, SKUA_EINVAL, pattern,
                          "a directory's pattern is \"/…/\", perhaps with \"GET \" before it");
    }
    if (config->cache_control && !site_is_field_value(config->cache_control)) {
        return place_fail(to, SKUA_EINVAL, pattern,
                          "Cache-Control must not contain control characters");
    }
    skua_status status = site_check_paths(to, config);
    return status ? status : site_check_values(to, config);
}

static void site_set_bounds(site *s, const skua_directory_config *config)
{
    s->cache_octets_max = config->cache_octets_max ? config->cache_octets_max : SITE_CACHE_OCTETS;
    s->cache_entries_max =
        config->cache_entries_max ? config->cache_entries_max : SITE_CACHE_ENTRIES;
    if (s->cache_entries_max > SITE_CACHE_ENTRIES_MAX)
        s->cache_entries_max = SITE_CACHE_ENTRIES_MAX;
    s->ranges_max = config->ranges_max ? config->ranges_max : RANGES_MAX;
    s->small_octets_max = config->small_octets_max ? config->small_octets_max : SITE_SMALL_OCTETS;
    s->listings_octets_max =
        config->listings_octets_max ? config->listings_octets_max : SITE_LISTINGS_OCTETS;
    if (s->small_octets_max > s->cache_octets_max) s->small_octets_max = s->cache_octets_max;
    // a program that says which files are small has decided about the others, too
    size_t share = s->cache_octets_max / SITE_KEPT_SHARE;
    if (config->small_octets_max) return;
    s->kept_octets_max = share < SITE_KEPT_OCTETS ? share : SITE_KEPT_OCTETS;
    s->kept_clear_octets_max = share < SITE_KEPT_CLEAR_OCTETS ? share : SITE_KEPT_CLEAR_OCTETS;
}

// A script of the program's is allowed beside the page's own.
static bool site_set_list(site *s, const skua_directory_config *config)
{
    s->list_markup_of = config->list_markup_of;
    s->list_markup_user = config->list_markup_user;
    if (!config->list_script) return place_copy(&s->list_markup, config->list_markup);
    size_t room = strlen(listing_page_policy) + strlen(config->list_script_hash) + 32;
    s->list_policy = memory_alloc(room);
    if (!s->list_policy) return false;
    (void)snprintf(s->list_policy, room, "%s '%s'; connect-src 'self'", listing_page_policy,
                   config->list_script_hash);
    return place_copy(&s->list_markup, config->list_markup) &&
           place_copy(&s->list_script, config->list_script);
}

static bool site_set_paths(site *s, const skua_directory_config *config)
{
    const char *not_found = config->not_found ? config->not_found : "404.html";
    return place_copy(&s->index, config->index ? config->index : "index.html") &&
           place_copy(&s->cache_control, config->cache_control) &&
           place_copy(&s->name, config->name) && place_copy(&s->fallback, config->fallback) &&
           place_copy(&s->not_found, not_found);
}

// Returns: false: memory ran out. What has been copied by then is freed with the site.
static bool site_set_types(site *s, const skua_directory_config *config)
{
    if (!config->types_count) return true;
    s->types = memory_zeroed(config->types_count * sizeof *s->types);
    if (!s->types) return false;
    s->types_count = config->types_count;
    for (size_t i = 0; i < s->types_count; i++) {
        s->types[i].ending = memory_text(config->types[i].ending);
        s->types[i].type = memory_text(config->types[i].type);
        if (!s->types[i].ending || !s->types[i].type) return false;
    }
    return true;
}

// Returns false when memory ran out, as site_set_types does.
static bool site_set_tries(site *s, const skua_directory_config *config)
{
    if (!config->tries_count) return true;
    s->tries = memory_zeroed(config->tries_count * sizeof *s->tries);
    if (!s->tries) return false;
    s->tries_count = config->tries_count;
    for (size_t i = 0; i < s->tries_count; i++) {
        s->tries[i] = memory_text(config->tries[i]);
        if (!s->tries[i]) return false;
    }
    return true;
}

static site *site_new(skua_server *server, const char *path, const skua_directory_config *config)
{
    site *s = memory_zeroed(sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->shared.refs, 1);
    s->server = server;
    s->prefix_len = strlen(path);
    s->list = config->list;
    s->dotfiles = config->dotfiles;
    s->clean_urls = config->clean_urls;
    s->precompressed = config->precompressed;
    s->compress = config->compress;
    s->etags = config->etags;
    s->decide = config->decide;
    s->decide_user = config->decide_user;
    (void)pthread_mutex_init(&s->shared.lock, NULL);
    site_set_bounds(s, config);
    site_comes();
    if (site_set_paths(s, config) && site_set_types(s, config) && site_set_list(s, config) &&
        site_set_tries(s, config))
        return s;
    site_let_go(s);
    return NULL;
}

static skua_status site_serve(const files_place *to, const char *pattern, const char *path,
                              const skua_directory_config *config)
{
    skua_status status = site_check(to, pattern, config);
    if (status) return status;
    site *s = site_new(to->server, place_pattern_path(pattern), config);
    if (!s) return place_fail(to, SKUA_ENOMEM, path, skua_status_text(SKUA_ENOMEM));
    if (!siblings_order(s, config->codings)) {
        site_let_go(s);
        return place_fail(to, SKUA_EINVAL, config->codings,
                          "codings are some of br, zstd and gzip, each once");
    }
    status = skua_root_open(path, &s->root);
    if (status) (void)place_fail(to, status, path, skua_status_text(status));
    else skua_root_follow(s->root, config->links);
    if (!status) {
        status = caches_add(s);
        if (status) (void)place_fail(to, status, "a directory", "too many are served already");
    }
    if (status) {
        site_let_go(s);
        return status;
    }
    status = place_give(to, to->site ? site_withdraw : site_release, s);
    if (!status && config->opened) *config->opened = s;
    if (!status) return place_add(to, place_pattern_path(pattern), s->name, static_handle, s);
    skua_local_remove(to->server, s->local_key);
    site_let_go(s);
    return status;
}

// config: NULL for the defaults; by structs of the sizes that the caller's header has.
static skua_status site_serve_sized(const char *function, const files_place *to,
                                    const char *pattern, const char *path,
                                    const skua_directory_config *config, const skua_sizes *sizes)
{
    CONTRACT_GIVEN_TO(function, pattern);
    CONTRACT_GIVEN_TO(function, path);
    CONTRACT_SIZES_TO(function, sizes);
    skua_directory_config own = { 0 };
    void *types = NULL;
    if (config) sized_take(function, config, sizes->directory_config, &own, sizeof own);
    if (own.decide && sizes->file_info > sizeof(skua_file_info))
        contract_broken(function, SIZED_NEWER);
    if (own.types && own.types_count <= SITE_TYPES_MAX)
        own.types = sized_array(function, own.types, own.types_count, sizes->media,
                                sizeof *own.types, &types);
    bool fits = own.types || !config || !config->types;
    skua_status status = fits ? site_serve(to, pattern, path, &own)
                              : place_fail(to, SKUA_ENOMEM, path, skua_status_text(SKUA_ENOMEM));
    memory_free(types);
    return status;
}

__attribute__((cold)) skua_status skua_route_directory_sized(skua_server *server,
                                                             const char *pattern, const char *path,
                                                             const skua_directory_config *config,
                                                             const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    const files_place at = { .server = server };
    return site_serve_sized(__func__, &at, pattern, path, config, sizes);
}

__attribute__((cold)) skua_status skua_site_directory_sized(skua_site *to, const char *pattern,
                                                            const char *path,
                                                            const skua_directory_config *config,
                                                            const skua_sizes *sizes)
{
    CONTRACT(to, "site must not be NULL");
    const files_place at = { .server = skua_site_server(to), .site = to };
    return site_serve_sized(__func__, &at, pattern, path, config, sizes);
}

// ---- From handlers ----

// Clients choose parts of names: no segment is empty but the last one, and none is of dots.
static bool static_is_name(slice name)
{
    if (name.len && (name.ptr[0] == '/' || memchr(name.ptr, 0, name.len))) return false;
    while (name.len) {
        const char *slash = memchr(name.ptr, '/', name.len);
        slice part = slice_make(name.ptr, slash ? (size_t)(slash - name.ptr) : name.len);
        if (!part.len || slice_equal(part, SKUA_SLICE(".")) || slice_equal(part, SKUA_SLICE("..")))
            return false;
        name = slice_from(name, part.len + (slash != NULL));
    }
    return true;
}

void skua_directory_serve(skua_request *request, skua_directory *directory, skua_slice name)
{
    contract_speaker = __func__;
    skua_request_hold(request);
    contract_speaker = NULL;
    CONTRACT_GIVEN(directory);
    CONTRACT_SLICE(name);
    CONTRACT(skua_request_server(request) == directory->server,
             "directory must be one of the request's own server");
    slice method = skua_request_method(request);
    if (!slice_equal(method, SKUA_SLICE("GET")) && !slice_equal(method, SKUA_SLICE("HEAD"))) {
        skua_field_add(request, "Allow", SKUA_SLICE("GET, HEAD"));
        skua_respond_error(request, 405);
    } else if (!static_is_name(name)) {
        skua_respond_error(request, 404);
    } else if (!skua_request_is_gone(request)) {
        static_serve(request, directory, name);
    }
    skua_request_drop(request);
}
