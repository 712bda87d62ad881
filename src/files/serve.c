// SPDX-License-Identifier: MIT
//
// Serving one file by name, from a handler. It is opened, and the response is the one that a directory
// would give of it, made for this request alone. The request is held meanwhile, so that what belongs to
// the serving is memory of the request, and the program's own skua_on_end stays as it is.

#include "base/assert.h"
#include "base/contract.h"
#include "base/sized.h"
#include "files/content_tag.h"
#include "files/forms.h"
#include "files/media.h"
#include "files/siblings.h"
#include "files/site_response.h"

// A file, or one that lies beside it compressed.
typedef struct serving_file {
    skua_file *file; // NULL: not open
    skua_file_info info;
    char *content; // of a small file, or how a large one begins
    size_t content_len;
    char tag[CONTENT_TAG_OCTETS]; // of a large file, by its content; empty: none
} serving_file;

// A request and its file.
typedef struct serving {
    file_waiter waiter;    // first, so that it is the serving
    skua_request *request; // held
    skua_root *root;
    serving_file own, sibling;
    cached *entry;           // of the file as it is; NULL: not made
    content_coding coding;   // of the sibling
    bool has_waited;         // for the file to be compressed, and does not do so again
    content_tag_job *hashes; // its own
    unsigned hashings;       // that it has waited for
    slice path;
    slice key;        // the root and the path
    const char *type; // NULL: by name and content
    site site;        // a directory of this file alone
    cache cache;      // of no files: responses ask it for boundaries
} serving;

static void serving_close_file(serving_file *file)
{
    if (file->file) skua_file_unref(file->file);
    *file = (serving_file){ 0 };
}

static void serving_close(serving *s)
{
    serving_close_file(&s->own);
    serving_close_file(&s->sibling);
    if (s->entry) cached_free(s->entry, &s->site);
    s->entry = NULL;
}

static void serving_end(serving *s)
{
    serving_close(s);
    skua_request_drop(s->request); // and with it goes the serving
}

static void serving_fail(serving *s, skua_status why)
{
    site_respond_failure(s->request, &s->site, s->path, why);
    serving_end(s);
}

// ---- Responding ----

// RFC 9110 §13.2.1: conditions of a method that has done its work by now are over.
static bool serving_is_conditional(const skua_request *request)
{
    slice method = skua_request_method(request);
    return slice_equal(method, SKUA_SLICE("GET")) || slice_equal(method, SKUA_SLICE("HEAD"));
}

// file: NULL: entry was made in memory, and no ranges of it are served.
static void serving_respond(serving *s, const cached *entry, skua_file *file)
{
    if (serving_is_conditional(s->request)) {
        site_response_outcome outcome = site_respond_file(s->request, &s->cache, entry, file);
        SKUA_ASSERT(outcome == SITE_RESPONSE_DONE); // since the file is open
    } else {
        site_respond_whole(s->request, &s->site, entry);
    }
}

static cached_source serving_source(const serving *s, const serving_file *file,
                                    content_coding coding, const char *type)
{
    bool whole = cached_is_small(&s->site, &file->info);
    return (cached_source){
        .site = &s->site,
        .worker = skua_request_worker(s->request),
        .key = s->key,
        .path = s->path,
        .variant = (cached_variant)coding,
        .type = type,
        .file = file->file,
        .info = &file->info,
        .content = whole ? slice_make(file->content, file->content_len) : slice_make(NULL, 0),
        .tag = slice_of(file->tag),
    };
}

// ---- Waiting ----

static void serving_open(serving *s);

// Whatever has come of it, the file may have changed meanwhile: it is opened anew.
static void serving_awaited(file_waiter *waiter)
{
    serving *s = (serving *)waiter;
    serving_close(s);
    serving_open(s);
}

// Finds the tag of a large file, or waits until it is hashed. Returns whether it waits.
static bool serving_hash(serving *s, serving_file *file)
{
    skua_worker *worker = skua_request_worker(s->request);
    bool is_settled = cached_is_settled(&file->info, skua_worker_unix_ns(worker));
    file->tag[0] = '\0';
    if (!cached_is_hashed_apart(&s->site, &file->info) ||
        content_tag_find(&file->info, is_settled, file->tag))
        return false;
    if (s->hashings++ >= 2 * CONTENT_TAG_WAITS_MAX) return false; // for the file, and for a sibling
    s->waiter = (file_waiter){ .done = serving_awaited, .request = s->request };
    return content_tag_want(&s->hashes, worker, file->file, &file->info, is_settled, &s->waiter);
}

// ---- Codings ----

static void serving_choose(serving *s);

static bool serving_respond_form(serving *s, const forms_wish *wish)
{
    compressed *form = forms_find(wish);
    if (!form) return false;
    cached_source source = serving_source(s, &s->own, wish->coding, s->entry->origin.type);
    cached *coded;
    skua_status status = cached_new_compressed(&source, &s->entry->origin, form, &coded);
    compressed_unref(form);
    if (status) return false;
    serving_respond(s, coded, NULL);
    cached_free(coded, &s->site);
    return true;
}

// Returns whether the file is sent compressed, now or later.
static bool serving_compress(serving *s, content_coding coding)
{
    const forms_wish wish = {
        .forms = forms_of(skua_request_worker(s->request)),
        .key = s->key,
        .entry = s->entry,
        .file = s->own.file,
        .coding = coding,
    };
    if (!wish.forms) return false;
    bool done = serving_respond_form(s, &wish);
    if (done) serving_end(s);
    if (done || s->has_waited) return done;
    s->has_waited = true;
    s->waiter = (file_waiter){ .done = serving_awaited, .request = s->request };
    switch (forms_want(&wish, &s->waiter)) {
    case COMPRESSION_WAITS: return true;
    case COMPRESSION_IS_READY:
        done = serving_respond_form(s, &wish);
        if (done) serving_end(s);
        return done;
    case COMPRESSION_NONE: break;
    }
    return false;
}

// Another one is looked for.
static void serving_skip_sibling(serving *s)
{
    serving_close_file(&s->sibling);
    s->entry->siblings &= (uint8_t) ~(1U << s->coding);
    serving_choose(s);
}

static void serving_respond_sibling(serving *s)
{
    cached_source source = serving_source(s, &s->sibling, s->coding, s->entry->origin.type);
    cached *coded;
    if (cached_new(&source, &coded)) {
        serving_skip_sibling(s);
        return;
    }
    serving_respond(s, coded, s->sibling.file);
    cached_free(coded, &s->site);
    serving_end(s);
}

static void serving_sibling_loaded(skua_worker *worker, skua_status status, size_t octets,
                                   void *user)
{
    (void)worker;
    serving *s = user;
    if (status || octets < s->sibling.content_len) serving_skip_sibling(s);
    else serving_respond_sibling(s);
}

// One that is older than the file holds what was there before.
static void serving_sibling_opened(skua_worker *worker, skua_status status, skua_file *file,
                                   const skua_file_info *info, void *user)
{
    (void)worker;
    serving *s = user;
    serving_file *sibling = &s->sibling;
    sibling->file = file;
    if (status || info->kind != SKUA_FILE_REGULAR || info->mtime_ns < s->own.info.mtime_ns) {
        serving_skip_sibling(s);
        return;
    }
    sibling->info = *info;
    if (serving_hash(s, sibling)) return;
    bool small = cached_is_small(&s->site, info) && info->size;
    if (!small) {
        serving_respond_sibling(s);
        return;
    }
    sibling->content_len = (size_t)info->size;
    sibling->content = skua_request_alloc(s->request, sibling->content_len);
    if (sibling->content)
        skua_file_load(file, 0, sibling->content, sibling->content_len, serving_sibling_loaded, s);
    else serving_skip_sibling(s);
}

static void serving_open_sibling(serving *s)
{
    slice suffix = siblings_suffix(s->coding);
    char *path = (char *)(uintptr_t)s->path.ptr; // which has room for it
    memcpy(path + s->path.len, suffix.ptr, suffix.len);
    skua_file_open(skua_request_worker(s->request), s->root,
                   slice_make(path, s->path.len + suffix.len), serving_sibling_opened, s);
}

// Responds with the file as it is, if the client takes that. What another method has done is not taken back.
static void serving_respond_own(serving *s)
{
    if (serving_is_conditional(s->request) && siblings_refuse_identity(s->request, &s->cache))
        site_respond_unacceptable(s->request, &s->site, s->entry);
    else serving_respond(s, s->entry, s->own.file);
    serving_end(s);
}

// Siblings that have not been looked for count as if they were there: the one that the client wants most is
// looked for, and if it is missing the choice is made without it.
static void serving_choose(serving *s)
{
    s->coding = siblings_choose(s->request, &s->cache, s->entry);
    bool is_coded = s->coding != CODING_IDENTITY && s->coding != CODING_COUNT;
    if (is_coded && s->entry->siblings & 1U << s->coding) serving_open_sibling(s);
    else if (!is_coded || !serving_compress(s, s->coding)) serving_respond_own(s);
}

// ---- Opening and reading ----

static const char *serving_type(const serving *s)
{
    return s->type ? s->type : media_type(s->path, slice_make(s->own.content, s->own.content_len));
}

static void serving_begin(serving *s)
{
    cached_source source = serving_source(s, &s->own, CODING_IDENTITY, serving_type(s));
    skua_status status = cached_new(&source, &s->entry);
    if (status) {
        s->entry = NULL;
        serving_fail(s, status);
        return;
    }
    if (s->site.precompressed) s->entry->siblings = (uint8_t)s->site.codings;
    serving_choose(s);
}

static void serving_loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)worker;
    serving *s = user;
    if (!status && octets < s->own.content_len) status = SKUA_ESTATE; // it has shrunk meanwhile
    if (status) serving_fail(s, status);
    else serving_begin(s);
}

// How many octets are read before the response: all of a small file, and the beginning of one whose
// name does not tell its type.
static size_t serving_needs_content(const serving *s)
{
    if (cached_is_small(&s->site, &s->own.info)) return (size_t)s->own.info.size;
    return s->type || !media_needs_look(s->path) ? 0 : MEDIA_LOOK_OCTETS;
}

static void serving_opened(skua_worker *worker, skua_status status, skua_file *file,
                           const skua_file_info *info, void *user)
{
    (void)worker;
    serving *s = user;
    serving_file *own = &s->own;
    own->file = file;
    if (!status) own->info = *info;
    if (!status && info->kind == SKUA_FILE_DIRECTORY) status = SKUA_ENOENT;
    if (!status && info->kind == SKUA_FILE_OTHER) status = SKUA_EACCES;
    if (status) {
        serving_fail(s, status);
        return;
    }
    if (serving_hash(s, own)) return;
    own->content_len = serving_needs_content(s);
    if (!own->content_len) {
        serving_begin(s);
        return;
    }
    own->content = skua_request_alloc(s->request, own->content_len);
    if (own->content) skua_file_load(file, 0, own->content, own->content_len, serving_loaded, s);
    else serving_fail(s, SKUA_ENOMEM);
}

static void serving_open(serving *s)
{
    skua_file_open(skua_request_worker(s->request), s->root, s->path, serving_opened, s);
}

// ---- Beginning ----

// Copies a text into the request's memory. Returns false when that ran out.
static bool serving_copy_text(skua_request *request, const char *text, char **copy)
{
    *copy = NULL;
    if (!text || !*text) return true;
    size_t octets = strlen(text) + 1;
    *copy = skua_request_alloc(request, octets);
    if (*copy) memcpy(*copy, text, octets);
    return *copy;
}

// The key in front, then the path as a part of it, and room for a suffix behind that.
static bool serving_copy_path(serving *s, slice path)
{
    size_t before = sizeof s->root, len = before + path.len;
    char *key = skua_request_alloc(s->request, len + SIBLINGS_SUFFIX_OCTETS);
    if (!key) return false;
    memcpy(key, &s->root, before);
    if (path.len) memcpy(key + before, path.ptr, path.len);
    s->key = slice_make(key, len);
    s->path = slice_from(s->key, before);
    return true;
}

static void serving_set(serving *s, const skua_serve_desc *desc)
{
    s->site.server = skua_request_server(s->request);
    s->site.etags = desc->etags;
    s->site.dotfiles = desc->dotfiles;
    s->site.precompressed = desc->precompressed;
    s->site.compress = desc->compress;
    s->site.ranges_max = RANGES_MAX;
    s->site.small_octets_max = CACHED_HASHED_OCTETS;
    s->site.cache_octets_max = SITE_CACHE_OCTETS;
    (void)siblings_order(&s->site, NULL);
    s->cache.site = &s->site;
    if (skua_request_is_conditional(s->request)) siphash_key_random(&s->cache.key);
}

static serving *serving_new(skua_request *request, skua_root *root, slice path,
                            const skua_serve_desc *desc)
{
    serving *s = skua_request_alloc(request, sizeof *s);
    char *type, *cache_control;
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->request = request;
    s->root = root;
    if (!serving_copy_path(s, path) || !serving_copy_text(request, desc->type, &type) ||
        !serving_copy_text(request, desc->cache_control, &cache_control))
        return NULL;
    s->type = type;
    s->site.cache_control = cache_control;
    serving_set(s, desc);
    return s;
}

void skua_serve_file_sized(skua_request *request, skua_root *root, skua_slice path,
                           const skua_serve_desc *desc, const skua_sizes *sizes)
{
    contract_speaker = __func__;
    skua_request_hold(request);
    contract_speaker = NULL;
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    CONTRACT_SIZES(sizes);
    skua_serve_desc own = { 0 };
    serving *s =
        serving_new(request, root, path, desc ? SIZED_GIVEN(desc, sizes->serve_desc, &own) : &own);
    if (!s) {
        skua_respond_error(request, 503);
        skua_request_drop(request);
        return;
    }
    if (site_hides(&s->site, s->path)) serving_fail(s, SKUA_ENOENT);
    else serving_open(s);
}
