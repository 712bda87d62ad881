// SPDX-License-Identifier: MIT

#include "conf/upload.h"

#include "upload/sibling.h"
#include "conf/chosen.h"
#include "conf/lock.h"
#include "conf/response.h"
#include "conf/sites.h"
#include "upload/page.h"

#include <string.h>

// Whether everyone has to name himself who comes by that method: by a password or by a token.
static bool upload_is_locked(const conf_scope *scope, skua_slice method)
{
    for (const conf_lock *at = scope->locks; at; at = at->outer)
        if (at->guard && conf_lock_holds(scope->locks, at->guard, method)) return true;
    return false;
}

static void upload_check_lock(conf *from, const conf_scope *scope, const conf_upload *upload)
{
    bool is_locked = upload_is_locked(scope, SKUA_SLICE("PUT")) &&
                     (!upload->place.deletes || upload_is_locked(scope, SKUA_SLICE("DELETE")));
    if (is_locked || upload->is_for_anyone) return;
    conf_find(
        &from->findings, upload->at,
        "everyone could write to %s; it needs basic_auth or bearer_auth, or the word anyone behind "
        "upload",
        scope->path);
}

static void upload_open_folder(conf *from, const conf_scope *scope, const conf_scope *root,
                               conf_upload *upload)
{
    upload->folder =
        conf_print(&from->memory, "%s/%s", root->root, scope->path + strlen(root->path));
    if (!upload->folder) return;
    if (upload_open(&upload->place, upload->folder))
        (void)conf_memory_on_free(&from->memory, upload_close, &upload->place);
    else
        conf_find(&from->findings, upload->at, "there is no folder %s for uploads", upload->folder);
}

// An inner block with a root of its own takes no files unless it says so; nor do those inside of it.
static void upload_open_scope(conf *from, conf_site *site, conf_scope *scope)
{
    conf_upload *upload = scope->upload;
    const conf_scope *root = conf_scope_root(site, scope->path, strlen(scope->path));
    bool is_its_own = strcmp(upload->place.path, scope->path) == 0;
    if (!root || (!is_its_own &&
                  root != conf_scope_root(site, upload->place.path, strlen(upload->place.path)))) {
        scope->upload = NULL;
        return;
    }
    upload->site = site;
    upload->place.is_played = from->is_played;
    upload->place.etags = root->directory.etags;
    if (is_its_own) upload_open_folder(from, scope, root, upload);
    upload_check_lock(from, scope, upload);
}

void conf_upload_open(conf *from)
{
    for (conf_site *site = from->sites; site; site = site->next) {
        for (conf_scope *at = &site->scope; at; at = conf_scope_next(site, at))
            if (at->upload) upload_open_scope(from, site, at);
    }
}

// In an attribute of HTML, and in a list with spaces.
static const char *upload_encode(conf_memory *memory, const char *path)
{
    const char *encoded = "";
    for (; *path && encoded; path++) {
        bool is_plain = strchr("/-._~", *path) || (*path >= '0' && *path <= '9') ||
                        ((*path | 0x20) >= 'a' && (*path | 0x20) <= 'z');
        encoded = conf_print(memory, is_plain ? "%s%c" : "%s%%%02X", encoded, (unsigned char)*path);
    }
    return encoded;
}

bool conf_upload_show(conf *from, const conf_site *site, const conf_scope *root,
                      skua_directory_config *how)
{
    const char *paths = "";
    for (const conf_scope *at = &site->scope; at && paths; at = conf_scope_next(site, at)) {
        bool is_here = at->upload && strcmp(at->upload->place.path, at->path) == 0 &&
                       conf_scope_root(site, at->path, strlen(at->path)) == root;
        const char *path = is_here ? upload_encode(&from->memory, at->path) : NULL;
        if (is_here) paths = path ? conf_print(&from->memory, "%s %s", paths, path) : NULL;
    }
    if (!paths || !*paths) return paths != NULL;
    how->list_markup =
        conf_print(&from->memory, "%s%s%s", upload_page_before, paths, upload_page_behind);
    how->list_script = upload_page_script;
    how->list_script_hash = upload_page_script_hash;
    return how->list_markup != NULL;
}

// A sibling is sent in the place of its file, and so is taken where that would be.
void conf_upload_handle(skua_request *request, void *user)
{
    const conf_upload *upload = user;
    const conf_scope *own = conf_response_scope(request, upload->site);
    skua_slice path = skua_request_path(request);
    size_t held = sibling_of(path.ptr, path.len);
    const conf_scope *of = held ? conf_scope_of(upload->site, path.ptr, held) : own;
    bool takes = own->upload == upload && of->upload == upload;
    if (takes && !conf_chosen_is_kept(request, upload->site, own, path))
        upload_handle(request, &upload->place);
    else skua_respond_error(request, 403);
}
