// SPDX-License-Identifier: MIT
//
// What the server's other parts use of answering.
#ifndef SKUA_SERVER_RESPOND_H
#define SKUA_SERVER_RESPOND_H

#include "base/slice.h"

enum { RESPOND_FIELDS_OCTETS_MAX = 8192 }; // fields added by a handler

// Whether a handler may set this field.
bool respond_takes_field(slice name, slice value);

// Whether an answer may have this status and media type.
skua_status respond_check_type(int status, slice type);

#endif
