// SPDX-License-Identifier: MIT
//
// A rewrite leads to a root and to nothing else, so that there are no circles. It must not lead around a lock: whoever
// may not ask for the other path itself gets nothing of it here, whatever he puts into the parts of the pattern.

#include "conf/rewrite.h"

#include "conf/lock.h"
#include "conf/response.h"
#include "conf/sites.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { REWRITE_PATH_OCTETS_MAX = 8192, REWRITE_NAME_OCTETS = 256 };

// The innermost scope of a path, and the root in which its files are.
typedef struct rewritten {
    const conf_scope *scope, *root; // NULL: there is no root
} rewritten;

static rewritten rewrite_find(const conf_site *site, const char *path, size_t len)
{
    return (rewritten){ conf_scope_of(site, path, len), conf_scope_root(site, path, len) };
}

// ---- Requests ----

typedef struct rewrite_path {
    char text[REWRITE_PATH_OCTETS_MAX];
    size_t len;
    bool is_cut;
} rewrite_path;

static void rewrite_add(rewrite_path *to, const char *text, size_t len)
{
    to->is_cut = to->is_cut || len > sizeof to->text - to->len;
    if (to->is_cut || !len) return;
    memcpy(to->text + to->len, text, len);
    to->len += len;
}

// A "}" of the name of a part is there: the checker has seen to it.
static const char *rewrite_add_part(rewrite_path *to, const skua_request *request, const char *at)
{
    char name[REWRITE_NAME_OCTETS];
    size_t len = strcspn(at, "}");
    if (len < sizeof name) {
        memcpy(name, at, len);
        name[len] = '\0';
        skua_slice part = skua_request_param(request, name);
        rewrite_add(to, part.ptr, part.len);
    }
    return at + len + 1;
}

static void rewrite_write(rewrite_path *to, const skua_request *request, const char *target)
{
    while (*target) {
        size_t len = strcspn(target, "{");
        rewrite_add(to, target, len);
        target += len;
        if (*target == '{') target = rewrite_add_part(to, request, target + 1);
    }
}

// Whether each lock of the other path has been opened for this request already.
static bool rewrite_may_enter(const skua_request *request, const conf_site *site,
                              const conf_scope *scope)
{
    const conf_lock *own = conf_response_scope(request, site)->locks;
    return conf_lock_is_open(own, scope->locks, skua_request_method(request)) &&
           conf_response_may_come(request, scope);
}

void conf_rewrite_handle(skua_request *request, void *user)
{
    const conf_rewrite *rewrite = user;
    rewrite_path to = { .len = 0 };
    rewrite_write(&to, request, rewrite->to);
    rewritten found = rewrite_find(rewrite->site, to.text, to.len);
    if (to.is_cut || !skua_request_path_is_plain(request) || !found.root) {
        skua_respond_error(request, 404);
    } else if (!rewrite_may_enter(request, rewrite->site, found.scope)) {
        skua_respond_error(request, 403);
    } else {
        size_t skip = strlen(found.root->path);
        if (skip > to.len) skip = to.len; // the root itself, without its "/"
        skua_directory_serve(request, found.root->opened,
                             (skua_slice){ to.text + skip, to.len - skip });
    }
}

// ---- The check ----

// Nothing is known of a target with parts but that a root has to be above them.
static void rewrite_check_root(conf_checker *c, const conf_site *site, const conf_rewrite *rewrite)
{
    const char *brace = strchr(rewrite->to, '{');
    size_t len = brace ? (size_t)(brace - rewrite->to) : strlen(rewrite->to);
    rewritten found = rewrite_find(site, rewrite->to, len);
    struct stat info;
    if (!found.root && !brace) {
        conf_find(c->findings, rewrite->at, "no root has files at %s", rewrite->to);
        return;
    }
    size_t skip = found.root ? strlen(found.root->path) : 0;
    bool is_sought = !brace && skip < len && !found.root->tries_count && !found.root->is_app &&
                     !found.root->directory.clean_urls;
    const char *file =
        is_sought ? conf_print(c->findings->memory, "%s/%s", found.root->root, rewrite->to + skip)
                  : NULL;
    if (file && stat(file, &info) != 0 && errno == ENOENT)
        conf_find(&c->conf->notes, rewrite->at, "there is no file %s yet", file);
}

void conf_check_rewrites(conf_checker *c, const conf_site *site)
{
    for (const conf_rewrite *at = site->rewrites; at; at = at->next) {
        const conf_redirect *redirect = site->redirects;
        while (redirect && strcmp(redirect->pattern, at->pattern) != 0)
            redirect = redirect->next;
        if (redirect)
            conf_find(c->findings, at->at, "%s is redirected by line %u of %s already", at->pattern,
                      redirect->at.line, redirect->at.file);
        else rewrite_check_root(c, site, at);
    }
}
