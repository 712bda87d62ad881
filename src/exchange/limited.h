// SPDX-License-Identifier: MIT
//
// Routes with limits of their own, on content and on time: a handler in front of the program's sets them.
#ifndef SKUA_EXCHANGE_LIMITED_H
#define SKUA_EXCHANGE_LIMITED_H

#include "exchange/request.h"

typedef struct limited_route limited_route;

// Adds one to *list. octets_max: of content, 0 for the server's. timeout_ns: as skua_request_timeout has it.
// Returns the user of its handler, which is limited_begin; NULL when memory ran out.
void *limited_add(limited_route **list, skua_handler *handler, void *user, uint64_t octets_max,
                  int64_t timeout_ns);

void limited_free(limited_route *list); // NULL is allowed

// The handler of every such route.
void limited_begin(skua_request *r, void *user);

#endif
