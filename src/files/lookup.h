// SPDX-License-Identifier: MIT
//
// Lookup: what happens to a request whose file is not ready, or has to be looked at again: watch,
// open, make ready, respond.
#ifndef SKUA_FILES_LOOKUP_H
#define SKUA_FILES_LOOKUP_H

#include "files/cache.h"

// Answers request with what name, a path beneath the site's root, leads to. An empty one, or one
// with a "/" at its end, names a directory: its index file answers, or a listing. The response
// comes now or later.
void lookup_start(skua_request *request, const site *s, cache *c, slice name);

// Answers request with 404 and the site's page for it, now or later.
void lookup_nothing(skua_request *request, const site *s, cache *c);

#endif
