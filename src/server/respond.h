// SPDX-License-Identifier: MIT
//
// What the server's other parts use of answering.
#ifndef SKUA_SERVER_RESPOND_H
#define SKUA_SERVER_RESPOND_H

#include "base/slice.h"

// Whether a handler may set this field.
bool respond_takes_field(slice name, slice value);

#endif
