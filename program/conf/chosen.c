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
} chosen_root;

static bool chosen_is_open(const skua_request *request, const conf_scope *own,
                           const conf_scope *scope)
{
    return own == scope || (conf_lock_adds_none(own, scope, skua_request_method(request)) &&
                            conf_response_may_come(request, scope));
}

// A sibling tells what its file holds.
bool conf_chosen_is_kept(const skua_request *request, const conf_site *site, const conf_scope *own,
                         skua_slice path)
{
    size_t held = sibling_of(path.ptr, path.len);
    return !chosen_is_open(request, own, conf_scope_of(site, path.ptr, path.len)) ||
           (held && !chosen_is_open(request, own, conf_scope_of(site, path.ptr, held)));
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
    return conf_chosen_is_kept(request, root->site, conf_response_scope(request, root->site),
                               (skua_slice){ whole, above + path.len })
               ? 403
               : 0;
}

// Where all paths have the same rules nobody is asked.
bool conf_chosen_show(conf_memory *memory, const conf_site *site, const conf_scope *root,
                      skua_directory_config *how)
{
    bool differs = false;
    for (const conf_scope *at = site->paths; at; at = at->next)
        differs = differs || at->locks != site->scope.locks || at->doors != site->scope.doors;
    if (!differs) return true;
    chosen_root *user = conf_take(memory, sizeof *user);
    if (!user) return false;
    *user = (chosen_root){ site, root };
    how->decide = chosen_decide;
    how->decide_user = user;
    return true;
}
