// SPDX-License-Identifier: MIT

#include "conf/chosen.h"

#include "upload/sibling.h"
#include "conf/lock.h"
#include "conf/response.h"
#include "conf/sites.h"

#include <string.h>

enum { CHOSEN_PATH_OCTETS = 2 * CONF_WORD_OCTETS_MAX }; // the kernel opens no longer ones

// A root of a site.
typedef struct chosen_root {
    const conf_site *site;
    const conf_scope *scope;
    bool is_played;
} chosen_root;

static const conf_scope *chosen_keeper; // of requests that are played: one thread plays them

static bool chosen_is_open(const skua_request *request, const conf_scope *own,
                           const conf_scope *scope)
{
    return own == scope || (conf_lock_adds_none(own, scope, skua_request_method(request)) &&
                            conf_response_may_come(request, scope));
}

// The scope that keeps the file of a path from who may come to own; NULL: none does. A sibling tells what its file holds.
static const conf_scope *chosen_keeper_of(const skua_request *request, const conf_site *site,
                                          const conf_scope *own, skua_slice path)
{
    size_t held = sibling_of(path.ptr, path.len);
    const conf_scope *of = conf_scope_of(site, path.ptr, path.len);
    const conf_scope *of_held = held ? conf_scope_of(site, path.ptr, held) : of;
    if (!chosen_is_open(request, own, of)) return of;
    return chosen_is_open(request, own, of_held) ? NULL : of_held;
}

bool conf_chosen_is_kept(const skua_request *request, const conf_site *site, const conf_scope *own,
                         skua_slice path)
{
    return chosen_keeper_of(request, site, own, path) != NULL;
}

const conf_scope *conf_chosen_keeper(void)
{
    return chosen_keeper;
}

// Called for each response that has a file.
static int chosen_decide(skua_request *request, skua_slice path, const skua_file_info *info,
                         void *user)
{
    const chosen_root *root = user;
    char whole[CHOSEN_PATH_OCTETS];
    size_t above = strlen(root->scope->path);
    (void)info;
    if (path.len > sizeof whole - above) return 404;
    memcpy(whole, root->scope->path, above);
    memcpy(whole + above, path.ptr, path.len);
    const conf_scope *own = conf_response_scope(request, root->site);
    const conf_scope *keeper =
        chosen_keeper_of(request, root->site, own, (skua_slice){ whole, above + path.len });
    if (root->is_played) chosen_keeper = keeper;
    return keeper ? 403 : 0;
}

// Where all paths have the same rules nobody is asked.
bool conf_chosen_show(conf *from, const conf_site *site, const conf_scope *root,
                      skua_directory_config *how)
{
    bool differs = false;
    for (const conf_scope *at = site->paths; at; at = at->next)
        differs = differs || at->locks != site->scope.locks || at->doors != site->scope.doors;
    if (!differs) return true;
    chosen_root *user = conf_take(&from->memory, sizeof *user);
    if (!user) return false;
    *user = (chosen_root){ site, root, from->is_played };
    how->decide = chosen_decide;
    how->decide_user = user;
    return true;
}
