// SPDX-License-Identifier: MIT
//
// The file that was chosen for a request may be that of another path: an index, a clean address, one that is tried, or a
// file that lies beside another one, compressed. The rules of its own path hold, too.
#ifndef PROGRAM_CONF_CHOSEN_H
#define PROGRAM_CONF_CHOSEN_H

#include "conf/conf.h"

// Whether the file of a path is kept from whoever may come to the scope own, that of the request.
bool conf_chosen_is_kept(const skua_request *request, const conf_site *site, const conf_scope *own,
                         skua_slice path);

// Sets who decides about files of a root. Returns: false without memory.
bool conf_chosen_show(conf *from, const conf_site *site, const conf_scope *root,
                      skua_directory_config *how);

// The scope that kept the file from the request that was played last; NULL: none did.
const conf_scope *conf_chosen_keeper(void);

#endif
