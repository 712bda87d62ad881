// SPDX-License-Identifier: MIT
//
// Caches: the cache of a site for each worker, made when the worker first needs it.
#ifndef SKUA_FILES_CACHES_H
#define SKUA_FILES_CACHES_H

#include "files/cache.h"

// Gives the workers of the site's server caches of it, found by skua_local and s->local_key.
// Errors: SKUA_ELIMIT: the workers have too many objects already.
SKUA_NODISCARD skua_status caches_add(site *s);

#endif
