// SPDX-License-Identifier: MIT
//
// Serving files that are part of the program, as a directory serves files: the same conditions, parts,
// codings, redirects and pages, without a disk and without memory of its own for each request.

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "files/byteranges.h"
#include "files/file_preconditions.h"
#include "files/media.h"
#include "files/place.h"
#include "files/site_response.h"
#include "http/coding.h"

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
    if (!kinds || !count || too_many) return CODING_IDENTITY;
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

static const char *embedded_type(const skua_asset *asset)
{
    return asset->type ? asset->type : media_type(slice_of(asset->path), asset->content);
}

static void embedded_send(skua_request *request, const skua_asset *asset, const embedded_form *form,
                          int status)
{
    const char *type = embedded_type(asset);
    skua_field guard;
    if (media_guard(type, &guard)) skua_field_add(request, guard.name.ptr, guard.value);
    if (status == 200) skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
    if (form->coding != CODING_IDENTITY)
        skua_field_add(request, "Content-Encoding", coding_name(form->coding));
    skua_respond_borrowed(request, status, type, form->content, NULL, NULL);
}

// has_rest: by If-Range, so that it knows the fields too, RFC 9110 §15.3.7.
static void embedded_send_part(skua_request *request, const skua_asset *asset,
                               const embedded_form *form, const range *part, bool has_rest)
{
    const char *type = embedded_type(asset);
    char text[BYTERANGES_FIELD_OCTETS];
    skua_field guard;
    if (media_guard(type, &guard)) skua_field_add(request, guard.name.ptr, guard.value);
    if (!has_rest) skua_field_add(request, "Accept-Ranges", SKUA_SLICE("bytes"));
    if (!has_rest && form->coding != CODING_IDENTITY)
        skua_field_add(request, "Content-Encoding", coding_name(form->coding));
    (void)snprintf(text, sizeof text, "bytes %llu-%llu/%zu", (unsigned long long)part->first,
                   (unsigned long long)(part->first + part->length - 1), form->content.len);
    skua_field_add(request, "Content-Range", slice_of(text));
    skua_respond_borrowed(request, 206, type,
                          slice_make(form->content.ptr + part->first, (size_t)part->length), NULL,
                          NULL);
}

// Several parts at once are sent as the whole, which RFC 9110 §14.2 allows.
static void embedded_send_ranged(skua_request *request, const embedded *e, const skua_asset *asset,
                                 const embedded_form *form, const preconditions *conditions)
{
    range list[1];
    unsigned count = 0;
    switch (range_read(conditions->range, form->content.len, 1, list, &count)) {
    case RANGE_UNSATISFIABLE: byteranges_refuse(request, form->content.len); return;
    case RANGE_PARTIAL:
        embedded_add_common(request, e, asset, form);
        embedded_send_part(request, asset, form, list, conditions->if_range.ptr != NULL);
        return;
    case RANGE_WHOLE: break;
    }
    embedded_add_common(request, e, asset, form);
    embedded_send(request, asset, form, 200);
}

static void embedded_respond(skua_request *request, const embedded *e, const skua_asset *asset)
{
    embedded_form form;
    preconditions conditions = { 0 };
    embedded_form_of(asset, embedded_choose(request, asset), &form);
    if (skua_request_is_conditional(request) && file_preconditions_gather(request, &conditions)) {
        skua_respond_error(request, 503);
        return;
    }
    const representation selected = { .etag = slice_of(form.tag), .last_modified = -1 };
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
    if (!ranged) conditions.range = SKUA_SLICE("");
    embedded_send_ranged(request, e, asset, &form, &conditions);
}

// A page for what is not found; its own state is not the resource's.
static void embedded_respond_missing(skua_request *request, const embedded *e)
{
    const skua_asset *page = embedded_named(e, e->not_found);
    embedded_form form;
    if (!page) {
        skua_respond_error(request, 404);
        return;
    }
    embedded_form_of(page, CODING_IDENTITY, &form);
    embedded_send(request, page, &form, 404);
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
    static const skua_assets_config defaults = { 0 };
    if (!config) config = &defaults;
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

__attribute__((cold)) skua_status skua_route_assets_sized(skua_server *server, const char *pattern,
                                                          const skua_assets *assets,
                                                          const skua_assets_config *config,
                                                          const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(assets);
    CONTRACT_SIZES(sizes);
    skua_assets own_assets;
    skua_assets_config own_config;
    assets = SIZED_GIVEN(assets, sizes->assets, &own_assets);
    if (config) config = SIZED_GIVEN(config, sizes->assets_config, &own_config);
    return embedded_serve(&(files_place){ .server = server }, pattern, assets, config);
}

__attribute__((cold)) skua_status skua_site_assets_sized(skua_site *to, const char *pattern,
                                                         const skua_assets *assets,
                                                         const skua_assets_config *config,
                                                         const skua_sizes *sizes)
{
    CONTRACT(to, "site must not be NULL");
    CONTRACT_GIVEN(pattern);
    CONTRACT_GIVEN(assets);
    CONTRACT_SIZES(sizes);
    skua_assets own_assets;
    skua_assets_config own_config;
    assets = SIZED_GIVEN(assets, sizes->assets, &own_assets);
    if (config) config = SIZED_GIVEN(config, sizes->assets_config, &own_config);
    const files_place at = { .server = skua_site_server(to), .site = to };
    return embedded_serve(&at, pattern, assets, config);
}
