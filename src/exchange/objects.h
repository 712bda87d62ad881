// SPDX-License-Identifier: MIT
//
// Objects that are kept with a request under a key.
#ifndef SKUA_EXCHANGE_OBJECTS_H
#define SKUA_EXCHANGE_OBJECTS_H

#include "exchange/request.h"

// Copies the request's list, for a thread of the pool that reads it while the worker may change it.
// Returns: false when memory ran out.
bool objects_copy(const skua_request *r, request_object **list, arena *memory);

#endif
