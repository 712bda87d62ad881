// SPDX-License-Identifier: MIT
//
// Routes with a limit of their own on content: a handler in front of the program's sets it.
#ifndef SKUA_EXCHANGE_LIMITED_H
#define SKUA_EXCHANGE_LIMITED_H

#include "exchange/request.h"

typedef struct limited_route limited_route;

// Adds one to *list. Returns the user of its handler, which is limited_begin; NULL when memory ran out.
void *limited_add(limited_route **list, skua_handler *handler, void *user, uint64_t octets_max);

void limited_free(limited_route *list); // NULL is allowed

// The handler of every such route.
void limited_begin(skua_request *r, void *user);

#endif
