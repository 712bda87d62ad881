// SPDX-License-Identifier: MIT
//
// Serving files that are part of the program, as a directory serves files: the same conditions, parts,
// codings, redirects and pages, without a disk and without memory of its own for each request.

#include "base/contract.h"
#include "base/memory.h"
#include "base/siphash.h"
#include "base/sized.h"
#include "files/byteranges.h"
#include "files/file_preconditions.h"
#include "files/media.h"
#include "files/place.h"
#include "files/site_response.h"
#include "http/coding.h"
#include "http/date.h"

#include <stdio.h>

enum {
    ASSETS_LINES_MAX = 8, // of Accept-Encoding; a client that sends more gets files as they are
    ASSETS_TAG_OCTETS = 96
};

// The assets of a route, and how they are served. Nothing changes while it runs.
typedef struct embedded {
    const char *list; // of skua_asset, each of as many octets as the program knows of it
    size_t count, asset_octets;
    size_t prefix_len;
    char *index, *fallback, *not_found, *cache_control; // NULL: none
} embedded;

// One representation of an asset.
typedef struct embedded_form {
    content_coding coding;
    slice content;
    char tag[ASSETS_TAG_OCTETS]; // empty: none
    int64_t modified;            // seconds since 1970; -1: none
} embedded_form;

// ---- Finding ----

static const skua_asset *embedded_at(const embedded *e, size_t index)
{
    return (const skua_asset *)(const void *)(e->list + index * e->asset_octets);
}

// Orders an asset's path and a name that comes in two parts, by octets.
static int embedded_compare(const char *path, slice name, slice rest)
{
    size_t i = 0, len = name.len + rest.len;
    for (; path[i] && i < len; i++) {
        char c = i < name.len ? name.ptr[i] : rest.ptr[i - name.len];
        if (path[i] != c) return (unsigned char)path[i] < (unsigned char)c ? -1 : 1;
    }
    if (path[i]) return 1;
    return i < len ? -1 : 0;
}

// The first asset whose path is not before the name.
static size_t embedded_bound(const embedded *e, slice name, slice rest)
{
    size_t low = 0, high = e->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (embedded_compare(embedded_at(e, middle)->path, name, rest) < 0) low = middle + 1;
        else high = middle;
    }
    return low;
}

static const skua_asset *embedded_find(const embedded *e, slice name, slice rest)
{
    size_t at = embedded_bound(e, name, rest);
    if (at == e->count) return NULL;
    const skua_asset *asset = embedded_at(e, at);
    return embedded_compare(asset->path, name, rest) == 0 ? asset : NULL;
}

static const skua_asset *embedded_named(const embedded *e, const char *name)
{
    return name ? embedded_find(e, slice_of(name), slice_make(NULL, 0)) : NULL;
}

static bool embedded_is_folder(const embedded *e, slice name)
{
    size_t at = embedded_bound(e, name, SKUA_SLICE("/"));
    if (at == e->count) return false;
    const char *path = embedded_at(e, at)->path;
    return strlen(path) > name.len && memcmp(path, name.ptr, name.len) == 0 &&
           path[name.len] == '/';
}

// ---- Codings ----

static slice embedded_coded(const skua_asset *asset, content_coding coding)
{
    switch (coding) {
    case CODING_GZIP: return asset->gzip;
    case CODING_BROTLI: return asset->br;
    case CODING_ZSTD: return asset->zstd;
    case CODING_IDENTITY:
    case CODING_COUNT: break;
    }
    return asset->content;
}

static bool embedded_varies(const skua_asset *asset)
{
    return asset->br.len || asset->zstd.len || asset->gzip.len;
}

static content_coding embedded_choose(const skua_request *request, const skua_asset *asset)
{
    static const content_coding all[] = { CODING_BROTLI, CODING_ZSTD, CODING_GZIP };
    content_coding order[CODING_COUNT - 1];
    slice lines[ASSETS_LINES_MAX], more;
    size_t kinds = 0, count = 0, index = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (embedded_coded(asset, all[i]).len) order[kinds++] = all[i];
    }
    while (count < ASSETS_LINES_MAX &&
           skua_request_field_next(request, "Accept-Encoding", &index, &lines[count]))
        count++;
    bool too_many = count == ASSETS_LINES_MAX &&
                    skua_request_field_next(request, "Accept-Encoding", &index, &more);
    if (!count || too_many) return CODING_IDENTITY;
    const coding_wishes wishes = coding_read(lines, count);
    return coding_choose(&wishes, order, kinds);
}

// Two representations never have one tag.
static void embedded_form_of(const skua_asset *asset, content_coding coding, embedded_form *form)
{
    slice tag = asset->etag ? slice_of(asset->etag) : slice_make(NULL, 0),
          name = coding_name(coding);
    form->coding = coding;
    form->content = embedded_coded(asset, coding);
    form->tag[0] = '\0';
    if (tag.len < 2) return;
    (void)snprintf(form->tag, sizeof form->tag, "%.*s%s%.*s\"",
                   (int)(tag.len < 60 ? tag.len - 1 : 60), tag.ptr,
                   coding == CODING_IDENTITY ? "" : "-",
                   coding == CODING_IDENTITY ? 0 : (int)name.len, name.ptr);
}

// ---- Responding ----

// Adds the fields that a 200 and its 304 share, RFC 9110 §15.4.5.
static void embedded_add_common(skua_request *request, const embedded *e, const skua_asset *asset,
                                const embedded_form *form)
{
    if (embedded_varies(asset)) skua_field_add(request, "Vary", SKUA_SLICE("Accept-Encoding"));
    if (form->tag[0]) skua_field_add(request, "ETag", slice_of(form->tag));
    if (e->cache_control) skua_field_add(request, "Cache-Control", slice_of(e->cache_control));
}

// Seconds since 1970, but not later than now, RFC 9110 §8.8.2.1; -1: none. Programs of older headers have assets
// without.
static int64_t embedded_modified(skua_request *request, const embedded *e, const skua_asset *asset)
{
    bool is_known = e->asset_octets >= offsetof(skua_asset, modified) + sizeof asset->modified;
    int64_t now = skua_worker_unix_ns(skua_request_worker(request)) / 1000000000;
    if (!is_known || asset->modified <= 0) return -1;
    return asset->modified < now ? asset->modified : now;
}

static const char *embedded_type(const skua_asset *asset)
{
    return asset->type ? asset->type : media_type(slice_of(asset->path), asset->content);
}

static void embedded_guard(skua_request *request, const skua_asset *asset)
{
    skua_field guard;
    if (media_guard(embedded_type(asset), &guard))
        skua_field_add(request, guard.name.ptr, guard.value);
}

// Adds the fields that a client which has a part already knows, RFC 9110 §15.3.7.
static void embedded_add_rest(skua_request *request, const embedded_form *form)
{
    char date[DATE_OCTETS];
    skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
    if (form->coding != CODING_IDENTITY)
        skua_field_add(request, "Content-Encoding", coding_name(form->coding));
    if (form->modified < 0) return;
    date_write(date, form->modified);
    skua_field_add(request, "Last-Modified", slice_make(date, sizeof date));
}

static void embedded_send(skua_request *request, const embedded *e, const skua_asset *asset,
                          const embedded_form *form)
{
    embedded_add_common(request, e, asset, form);
    embedded_guard(request, asset);
    embedded_add_rest(request, form);
    skua_respond_borrowed(request, 200, embedded_type(asset), form->content, NULL, NULL);
}

static void embedded_send_ranged(skua_request *request, const embedded *e, const skua_asset *asset,
                                 const embedded_form *form, const preconditions *conditions)
{
    range list[RANGES_MAX];
    unsigned count = 0;
    siphash_key boundary;
    switch (range_read(conditions->range, form->content.len, RANGES_MAX, list, &count)) {
    case RANGE_UNSATISFIABLE: byteranges_refuse(request, form->content.len); return;
    case RANGE_WHOLE: embedded_send(request, e, asset, form); return;
    case RANGE_PARTIAL: break;
    }
    embedded_add_common(request, e, asset, form);
    embedded_guard(request, asset);
    if (!conditions->if_range.ptr) embedded_add_rest(request, form);
    siphash_key_random(&boundary);
    const byteranges_from from = {
        .octets = form->content.ptr,
        .size = form->content.len,
        .type = embedded_type(asset),
    };
    byteranges_respond(request, &from, list, count, boundary.low);
}

static void embedded_respond(skua_request *request, const embedded *e, const skua_asset *asset)
{
    embedded_form form;
    preconditions conditions = { 0 };
    content_coding coding = embedded_choose(request, asset);
    if (coding == CODING_COUNT) {
        if (embedded_varies(asset)) skua_field_add(request, "Vary", SKUA_SLICE("Accept-Encoding"));
        skua_respond_error(request, 406);
        return;
    }
    embedded_form_of(asset, coding, &form);
    form.modified = embedded_modified(request, e, asset);
    if (skua_request_is_conditional(request) && file_preconditions_gather(request, &conditions)) {
        skua_respond_error(request, 503);
        return;
    }
    const representation selected = {
        .etag = slice_of(form.tag),
        .last_modified = form.modified,
        .now = skua_worker_unix_ns(skua_request_worker(request)) / 1000000000,
    };
    switch (precondition_evaluate(&conditions, &selected, true)) {
    case PRECONDITION_NOT_MODIFIED:
        embedded_add_common(request, e, asset, &form);
        skua_respond(request, 304, NULL, slice_make(NULL, 0));
        return;
    case PRECONDITION_FAILED: skua_respond_error(request, 412); return;
    case PRECONDITION_PROCEED: break;
    }
    bool ranged = conditions.range.ptr &&
                  slice_equal(skua_request_method(request), SKUA_SLICE("GET")) &&
                  precondition_range_applies(&conditions, &selected);
    if (ranged) embedded_send_ranged(request, e, asset, &form, &conditions);
    else embedded_send(request, e, asset, &form);
}

// A page for what is not found; its own state is not the resource's.
static void embedded_respond_missing(skua_request *request, const embedded *e)
{
    const skua_asset *page = embedded_named(e, e->not_found);
    if (!page) {
        skua_respond_error(request, 404);
        return;
    }
    embedded_guard(request, page);
    skua_respond_borrowed(request, 404, embedded_type(page), page->content, NULL, NULL);
}

// ---- Requests ----

static bool embedded_is_page(slice name)
{
    size_t begin = name.len;
    while (begin && name.ptr[begin - 1] != '/')
        begin--;
    return name.len == begin || !memchr(name.ptr + begin, '.', name.len - begin);
}

static void embedded_handle(skua_request *request, void *user)
{
    const embedded *e = user;
    slice name = slice_from(skua_request_path(request), e->prefix_len);
    bool is_folder = name.len == 0 || name.ptr[name.len - 1] == '/';
    slice rest = is_folder ? slice_of(e->index) : slice_make(NULL, 0);
    const skua_asset *asset =
        skua_request_path_is_plain(request) ? embedded_find(e, name, rest) : NULL;
    if (!asset && !is_folder && embedded_is_folder(e, name)) {
        site_respond_slash(request);
        return;
    }
    if (!asset && embedded_is_page(name)) asset = embedded_named(e, e->fallback);
    if (asset) embedded_respond(request, e, asset);
    else embedded_respond_missing(request, e);
}

// ---- Routes ----

static void embedded_free(void *user)
{
    embedded *e = user;
    memory_free(e->index);
    memory_free(e->fallback);
    memory_free(e->not_found);
    memory_free(e->cache_control);
    memory_free(e);
}

static skua_status embedded_check(const files_place *to, const char *pattern, const embedded *e)
{
    if (!place_pattern_path(pattern))
        return place_fail(to, SKUA_EINVAL, pattern,
                          "a pattern of assets is \"/…/\", perhaps with \"GET \" before it");
    for (size_t i = 0; i < e->count; i++) {
        const skua_asset *asset = embedded_at(e, i);
        bool follows = i == 0 || embedded_compare(embedded_at(e, i - 1)->path,
                                                  slice_of(asset->path), slice_make(NULL, 0)) < 0;
        if (!follows) return place_fail(to, SKUA_EINVAL, asset->path, "assets are sorted by path");
    }
    return SKUA_OK;
}

static embedded *embedded_new(const skua_assets *assets, const char *path,
                              const skua_assets_config *config)
{
    embedded *e = memory_zeroed(sizeof *e);
    if (!e) return NULL;
    e->list = (const char *)(const void *)assets->list;
    e->count = assets->count;
    e->asset_octets = assets->asset_octets;
    e->prefix_len = strlen(path);
    if (place_copy(&e->index, config->index ? config->index : "index.html") &&
        place_copy(&e->not_found, config->not_found ? config->not_found : "404.html") &&
        place_copy(&e->fallback, config->fallback) &&
        place_copy(&e->cache_control, config->cache_control))
        return e;
    embedded_free(e);
    return NULL;
}

static skua_status embedded_serve(const files_place *to, const char *pattern,
                                  const skua_assets *assets, const skua_assets_config *config)
{
    const char *path = place_pattern_path(pattern);
    embedded *e = embedded_new(assets, path ? path : "", config);
    if (!e) return place_fail(to, SKUA_ENOMEM, pattern, skua_status_text(SKUA_ENOMEM));
    skua_status status = embedded_check(to, pattern, e);
    if (!status) status = place_give(to, embedded_free, e);
    if (status) {
        embedded_free(e);
        return status;
    }
    return place_add(to, path, config->name, embedded_handle, e);
}

// assets, config: as the caller's header has them.
static skua_status embedded_serve_sized(const char *function, const files_place *to,
                                        const char *pattern, const skua_assets *assets,
                                        const skua_assets_config *config, const skua_sizes *sizes)
{
    CONTRACT_GIVEN_TO(function, pattern);
    CONTRACT_GIVEN_TO(function, assets);
    CONTRACT_SIZES_TO(function, sizes);
    skua_assets own = { 0 };
    skua_assets_config own_config = { 0 };
    sized_take(function, assets, sizes->assets, &own, sizeof own);
    if (config) sized_take(function, config, sizes->assets_config, &own_config, sizeof own_config);
    return embedded_serve(to, pattern, &own, &own_config);
}

__attribute__((cold)) skua_status skua_route_assets_sized(skua_server *server, const char *pattern,
                                                          const skua_assets *assets,
                                                          const skua_assets_config *config,
                                                          const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    const files_place at = { .server = server };
    return embedded_serve_sized(__func__, &at, pattern, assets, config, sizes);
}

__attribute__((cold)) skua_status skua_site_assets_sized(skua_site *to, const char *pattern,
                                                         const skua_assets *assets,
                                                         const skua_assets_config *config,
                                                         const skua_sizes *sizes)
{
    CONTRACT(to, "site must not be NULL");
    const files_place at = { .server = skua_site_server(to), .site = to };
    return embedded_serve_sized(__func__, &at, pattern, assets, config, sizes);
}
