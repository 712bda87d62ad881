// SPDX-License-Identifier: MIT
//
// Parts of a site: everything that a request uses. A worker has a copy of the parts of its server's
// own site.
#ifndef SKUA_EXCHANGE_SITE_PARTS_H
#define SKUA_EXCHANGE_SITE_PARTS_H

#include "base/slice.h"

typedef struct router router;
typedef struct middleware_set middleware_set;
typedef struct error_functions error_functions;

typedef struct site_parts {
    router *router;
    middleware_set *middleware; // NULL: none
    error_functions *errors;    // NULL: none
} site_parts;

#endif
