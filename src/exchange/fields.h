// SPDX-License-Identifier: MIT
//
// Fields that handlers and middleware add to a response, and its trailers.
#ifndef SKUA_EXCHANGE_FIELDS_H
#define SKUA_EXCHANGE_FIELDS_H

#include "exchange/request.h"

enum { FIELDS_OCTETS_MAX = 8192 }; // added to one response

// Whether a handler may set this field.
bool fields_take(slice name, slice value);
bool fields_take_trailer(slice name, slice value);

// A sentence for the log, about a field that cannot be sent. Static.
const char *fields_reason(skua_status why);

// Adds a field that fits into the head.  Errors: SKUA_ENOMEM, SKUA_ELIMIT.
skua_status fields_append(skua_request *r, slice name, slice value);

// A field that cannot be sent: the response that follows becomes 500. Returns: why.
skua_status fields_lose(skua_request *r, skua_status why);

#endif
