// SPDX-License-Identifier: MIT
//
// A listing as JSON (RFC 8259), for programs, and when a request gets it.
#ifndef SKUA_FILES_LISTING_JSON_H
#define SKUA_FILES_LISTING_JSON_H

#include "files/listing_view.h"

extern const listing_form listing_json;

// Whether the request's Accept names application/json, and gives it more weight than text/html. What only "*" has in it
// names neither.
bool listing_json_is_wanted(const skua_request *request);

#endif
