// SPDX-License-Identifier: MIT
//
// Preloads: files that a page will need, named to the browser before the page itself is ready (RFC 8297).
#ifndef PROGRAM_CONF_PRELOAD_H
#define PROGRAM_CONF_PRELOAD_H

#include "conf/conf.h"

// Middleware behind passwords, so that nobody learns of files who may not see the page. user: the conf_site.
void conf_preload_before(skua_request *request, void *site);
void conf_preload_head(skua_request *request, int status, void *site);

#endif
