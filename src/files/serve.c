// SPDX-License-Identifier: MIT
//
// Serving one file by name, from a handler. It is opened, and the response is the one that a directory
// would give of it, made for this request alone. The request is held meanwhile, so that what belongs to
// the serving is memory of the request, and the program's own skua_on_end stays as it is.

#include "base/assert.h"
#include "base/contract.h"
#include "base/sized.h"
#include "files/cache.h"
#include "files/content_tag.h"
#include "files/media.h"
#include "files/site_response.h"

// A request and its file.
typedef struct serving {
    file_waiter waiter;    // first, so that it is the serving
    skua_request *request; // held
    skua_file *file;       // NULL: not open
    skua_file_info info;
    char *content; // of a small file, or how a large one begins
    size_t content_len;
    slice path;
    const char *type; // NULL: by name and content
    skua_root *root;
    content_tag_job *hashes; // its own
    unsigned hashings;       // that it has waited for
    char tag[CONTENT_TAG_OCTETS];
    site site;   // a directory of this file alone
    cache cache; // of no files: responses ask it for boundaries
} serving;

static void serving_end(serving *s)
{
    if (s->file) skua_file_unref(s->file);
    skua_request_drop(s->request); // and with it goes the serving
}

static void serving_fail(serving *s, skua_status why)
{
    site_respond_failure(s->request, &s->site, s->path, why);
    serving_end(s);
}

static const char *serving_type(const serving *s)
{
    return s->type ? s->type : media_type(s->path, slice_make(s->content, s->content_len));
}

// RFC 9110 §13.2.1: conditions of a method that has done its work by now are over.
static bool serving_is_conditional(const skua_request *request)
{
    slice method = skua_request_method(request);
    return slice_equal(method, SKUA_SLICE("GET")) || slice_equal(method, SKUA_SLICE("HEAD"));
}

static void serving_respond(serving *s)
{
    bool whole = cached_is_small(&s->site, &s->info);
    cached_source source = {
        .site = &s->site,
        .worker = skua_request_worker(s->request),
        .path = s->path,
        .variant = CACHED_IDENTITY,
        .type = serving_type(s),
        .file = s->file,
        .info = &s->info,
        .content = whole ? slice_make(s->content, s->content_len) : slice_make(NULL, 0),
        .tag = slice_of(s->tag),
    };
    cached *entry;
    skua_status status = cached_new(&source, &entry);
    if (status) {
        serving_fail(s, status);
        return;
    }
    if (serving_is_conditional(s->request)) {
        site_response_outcome outcome = site_respond_file(s->request, &s->cache, entry, s->file);
        SKUA_ASSERT(outcome == SITE_RESPONSE_DONE); // since the file is open
    } else {
        site_respond_whole(s->request, &s->site, entry);
    }
    cached_free(entry, &s->site);
    serving_end(s);
}

static void serving_loaded(skua_worker *worker, skua_status status, size_t octets, void *user)
{
    (void)worker;
    serving *s = user;
    if (!status && octets < s->content_len) status = SKUA_ESTATE; // it has shrunk meanwhile
    if (status) serving_fail(s, status);
    else serving_respond(s);
}

// How many octets are read before the response: all of a small file, and the beginning of one whose
// name does not tell its type.
static size_t serving_needs_content(const serving *s)
{
    if (cached_is_small(&s->site, &s->info)) return (size_t)s->info.size;
    return s->type || !media_needs_look(s->path) ? 0 : MEDIA_LOOK_OCTETS;
}

static void serving_open(serving *s);

// It may have changed meanwhile.
static void serving_hashed(file_waiter *waiter)
{
    serving *s = (serving *)waiter;
    skua_file_unref(s->file);
    s->file = NULL;
    serving_open(s);
}

// Finds the tag of a large file, or waits until it is hashed. Returns whether it waits.
static bool serving_hash(serving *s, skua_worker *worker)
{
    bool is_settled = cached_is_settled(&s->info, skua_worker_unix_ns(worker));
    bool is_wanted =
        s->info.kind == SKUA_FILE_REGULAR && cached_is_hashed_apart(&s->site, &s->info);
    s->tag[0] = '\0';
    if (!is_wanted || content_tag_find(&s->info, is_settled, s->tag)) return false;
    if (s->hashings++ >= CONTENT_TAG_WAITS_MAX) return false;
    s->waiter = (file_waiter){ .done = serving_hashed, .request = s->request };
    return content_tag_want(&s->hashes, worker, s->file, &s->info, is_settled, &s->waiter);
}

static void serving_opened(skua_worker *worker, skua_status status, skua_file *file,
                           const skua_file_info *info, void *user)
{
    serving *s = user;
    s->file = file;
    if (!status) s->info = *info;
    if (!status && info->kind == SKUA_FILE_DIRECTORY) status = SKUA_ENOENT;
    if (!status && info->kind == SKUA_FILE_OTHER) status = SKUA_EACCES;
    if (status) {
        serving_fail(s, status);
        return;
    }
    if (serving_hash(s, worker)) return;
    s->content_len = serving_needs_content(s);
    if (!s->content_len) {
        serving_respond(s);
        return;
    }
    s->content = skua_request_alloc(s->request, s->content_len);
    if (s->content) skua_file_load(s->file, 0, s->content, s->content_len, serving_loaded, s);
    else serving_fail(s, SKUA_ENOMEM);
}

static void serving_open(serving *s)
{
    skua_file_open(skua_request_worker(s->request), s->root, s->path, serving_opened, s);
}

// Copies a text into the request's memory. Returns false when that ran out.
static bool serving_copy(skua_request *request, slice text, char **copy)
{
    *copy = skua_request_alloc(request, text.len + 1);
    if (!*copy) return false;
    if (text.len) memcpy(*copy, text.ptr, text.len);
    (*copy)[text.len] = '\0';
    return true;
}

static bool serving_copy_text(skua_request *request, const char *text, char **copy)
{
    *copy = NULL;
    return !text || !*text || serving_copy(request, slice_of(text), copy);
}

static serving *serving_new(skua_request *request, skua_root *root, slice path,
                            const skua_serve_desc *desc)
{
    serving *s = skua_request_alloc(request, sizeof *s);
    char *copied, *type, *cache_control;
    if (!s || !serving_copy(request, path, &copied) ||
        !serving_copy_text(request, desc->type, &type) ||
        !serving_copy_text(request, desc->cache_control, &cache_control))
        return NULL;
    memset(s, 0, sizeof *s);
    s->request = request;
    s->root = root;
    s->path = slice_make(copied, path.len);
    s->type = type;
    s->site.server = skua_request_server(request);
    s->site.cache_control = cache_control;
    s->site.etags = desc->etags;
    s->site.dotfiles = desc->dotfiles;
    s->site.ranges_max = RANGES_MAX;
    s->site.small_octets_max = CACHED_HASHED_OCTETS;
    s->cache.site = &s->site;
    if (skua_request_is_conditional(request)) siphash_key_random(&s->cache.key);
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
