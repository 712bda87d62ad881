// SPDX-License-Identifier: MIT
//
// An archive is judged when it is asked for, scope by scope: what each of them keeps from its client, as its innermost one
// would of each request. Helper threads look at files by that.

#include "conf/archive.h"

#include "upload/sibling.h"
#include "conf/lock.h"
#include "conf/method.h"
#include "conf/pattern.h"
#include "conf/response.h"
#include "conf/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

conf_archive_formats conf_archive_formats_of(const conf_scope *scope)
{
    conf_archive_formats formats = { { NULL } };
    size_t count = 0;
    for (unsigned i = 0; archive_formats[i] && count < CONF_ARCHIVE_FORMATS; i++)
        if (scope->archives >> i & 1) formats.at[count++] = archive_formats[i];
    return formats;
}

// ---- Gaps ----

static bool archive_has_limits(const conf_scope *scope, skua_slice method)
{
    for (const conf_limit *at = scope->limits; at; at = at->next)
        if (conf_method_is_of(at->methods, method)) return true;
    return false;
}

// Returns why an archive leaves a scope out; NULL: it does not. The client has passed the locks and limits of the archive's
// own scope, and of no other.
// folder: the path of the archive. own: its scope.
static const char *archive_gap(const conf_site *site, const conf_scope *own, skua_slice folder,
                               const conf_scope *scope, skua_slice method)
{
    const conf_scope *root = conf_scope_root(site, folder.ptr, folder.len);
    if (conf_scope_root(site, scope->path, strlen(scope->path)) != root)
        return "it has a root of its own";
    if (own->archives & ~scope->archives) return "it has no such archives itself";
    if (!conf_lock_is_open(own->locks, scope->locks, method)) return "it asks for another name";
    if (!conf_scope_has(scope, folder.ptr, folder.len) && archive_has_limits(scope, method))
        return "it has limits of its own";
    return NULL;
}

const char *conf_archive_gap(const conf_site *site, const conf_scope *of, const conf_scope *below)
{
    if (below == of || !conf_scope_has(of, below->path, strlen(below->path))) return NULL;
    const char *gap = archive_gap(site, of, skua_slice_of(of->path), below, SKUA_SLICE("GET"));
    return gap || below->doors == of->doors ? gap
                                            : "it is restricted; clients that may access it get it";
}

// ---- Configurations ----

static bool archive_is_own(const conf_scope *scope)
{
    return scope->archives && strcmp(scope->archives_of, scope->path) == 0;
}

static void archive_note_gaps(conf *from, const conf_site *site, const conf_scope *of)
{
    for (const conf_scope *at = site->paths; at; at = at->next) {
        const char *gap = conf_archive_gap(site, of, at);
        if (gap)
            conf_find(&from->notes, at->at, "archives of %s leave out %s: %s", of->path, at->path,
                      gap);
    }
}

static void archive_open_root(conf *from, conf_scope *root)
{
    if (root->archived) return;
    root->archived = archive_folder_open(root->root, root->directory.links);
    bool is_kept =
        root->archived && conf_memory_on_free(&from->memory, archive_folder_close, root->archived);
    if (is_kept) return;
    archive_folder_close(root->archived);
    root->archived = NULL;
    conf_find(&from->findings, root->root_at, "the folder %s could not be opened for archives",
              root->root);
}

// A block inside that has another root has archives only if it says so itself, or that root has listings too.
static void archive_open_scope(conf *from, conf_site *site, conf_scope *scope)
{
    conf_scope *root = &site->scope;
    const conf_scope *found = conf_scope_root(site, scope->path, strlen(scope->path));
    while (root && root != found)
        root = conf_scope_next(site, root);
    bool is_listed = root && root->directory.list;
    if (is_listed) archive_open_root(from, root);
    else if (archive_is_own(scope))
        conf_find(
            &from->findings, scope->archives_at,
            "an archive reveals all names below %s, as a listing does; its root needs listing "
            "on",
            scope->path);
    if (!is_listed) scope->archives = 0;
}

void conf_archive_open(conf *from)
{
    for (conf_site *site = from->sites; site; site = site->next) {
        for (conf_scope *at = &site->scope; at; at = conf_scope_next(site, at)) {
            if (at->archives) archive_open_scope(from, site, at);
            site->has_archives = site->has_archives || at->archives;
        }
        for (conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
            if (archive_is_own(at)) archive_note_gaps(from, site, at);
    }
}

// Markup of the pages of a root, by the archives of the innermost scope around each.
typedef struct archive_pages {
    const conf_site *site;
    const char *markup[1 << CONF_ARCHIVE_FORMATS]; // NULL: none
} archive_pages;

static const char *archive_markup_of(skua_slice path, void *user)
{
    const archive_pages *pages = user;
    return pages->markup[conf_scope_of(pages->site, path.ptr, path.len)->archives];
}

bool conf_archive_show(conf *from, const conf_site *site, const conf_scope *root,
                       skua_directory_config *how)
{
    if (!site->has_archives || !root->directory.list) return true;
    archive_pages *pages = conf_take(&from->memory, sizeof *pages);
    if (!pages) return false;
    pages->site = site;
    pages->markup[0] = how->list_markup;
    for (unsigned i = 1; i < 1 << CONF_ARCHIVE_FORMATS; i++) {
        char markup[ARCHIVE_MARKUP_OCTETS];
        const conf_archive_formats formats =
            conf_archive_formats_of(&(conf_scope){ .archives = i });
        (void)archive_markup(formats.at, markup);
        pages->markup[i] =
            conf_print(&from->memory, "%s%s", how->list_markup ? how->list_markup : "", markup);
        if (!pages->markup[i]) return false;
    }
    how->list_markup_of = archive_markup_of;
    how->list_markup_user = pages;
    return true;
}

// ---- Requests ----

// The scopes that one archive leaves out.
typedef struct archive_judge {
    conf *from; // held
    const conf_site *site;
    const char *root_path; // of its root
    bool leaves_out[];     // each scope, in their order
} archive_judge;

// A redirect or a rewrite that is for less than the root takes the place of files.
static bool archive_is_replaced(const archive_judge *judge, const char *path, size_t len)
{
    size_t above = strlen(judge->root_path);
    for (const conf_redirect *at = judge->site->redirects; at; at = at->next)
        if (strncmp(at->pattern, judge->root_path, above) == 0 &&
            conf_pattern_has(at->pattern, path, len))
            return true;
    for (const conf_rewrite *at = judge->site->rewrites; at; at = at->next)
        if (strncmp(at->pattern, judge->root_path, above) == 0 &&
            conf_pattern_has(at->pattern, path, len))
            return true;
    return false;
}

static bool archive_is_out(const archive_judge *judge, const char *path, size_t len)
{
    size_t number = 0;
    bool is_out = judge->leaves_out[0];
    for (const conf_scope *at = judge->site->paths; at; at = at->next) {
        number++;
        if (conf_scope_has(at, path, len)) is_out = judge->leaves_out[number];
    }
    return is_out;
}

// A sibling holds what its file does. Called on helper threads, one at a time.
static bool archive_may(const void *user, const char *path, size_t len)
{
    const archive_judge *judge = user;
    size_t held = sibling_of(path, len);
    return !archive_is_out(judge, path, len) && !(held && archive_is_out(judge, path, held)) &&
           !archive_is_replaced(judge, path, len);
}

static void archive_drop(void *user)
{
    conf_drop(((archive_judge *)user)->from);
    free(user);
}

static archive_judge *archive_judge_new(const skua_request *request, const conf_archived *archived,
                                        const conf_scope *own, const conf_scope *root)
{
    size_t count = 0;
    const conf_site *site = archived->site;
    for (const conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
        count++;
    archive_judge *judge = malloc(sizeof *judge + count * sizeof *judge->leaves_out);
    if (!judge) return NULL;
    *judge = (archive_judge){ conf_hold(archived->from), site, root->path };
    count = 0;
    for (const conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
        judge->leaves_out[count++] =
            archive_gap(site, own, skua_request_path(request), at, skua_request_method(request)) ||
            !conf_response_may_come(request, at);
    return judge;
}

// Redirects, rewrites and other roots have routes of their own.
static bool archive_is_route_of(const skua_request *request, const conf_scope *root)
{
    const char *pattern = skua_request_pattern(request);
    return root && root->archived && pattern && strncmp(pattern, "GET ", 4) == 0 &&
           strcmp(pattern + 4, root->path) == 0;
}

void conf_archive_before(skua_request *request, void *user)
{
    const conf_archived *archived = user;
    const conf_scope *own = conf_response_scope(request, archived->site);
    const conf_archive_formats formats = conf_archive_formats_of(own);
    skua_slice path = skua_request_path(request);
    const conf_scope *root = conf_scope_root(archived->site, path.ptr, path.len);
    const archive_format *format;
    if (!own->archives || !archive_is_route_of(request, root) ||
        !archive_asked(request, formats.at, &format)) {
        skua_next(request);
        return;
    }
    archive_judge *judge = format ? archive_judge_new(request, archived, own, root) : NULL;
    const archive_desc desc = { .folder = root->archived,
                                .root_octets = strlen(root->path),
                                .has_hidden = root->directory.dotfiles,
                                .may = archive_may,
                                .user = judge,
                                .drop = archive_drop };
    if (judge) archive_answer(request, format, &desc);
    else if (format) skua_respond_error(request, 503);
    else archive_refuse(request, formats.at);
}
