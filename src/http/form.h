// SPDX-License-Identifier: MIT
//
// application/x-www-form-urlencoded, decoded at once: the pairs of a query or of a form's content,
// WHATWG URL §5.1.
#ifndef SKUA_HTTP_FORM_H
#define SKUA_HTTP_FORM_H

#include "base/slice.h"

// How many pairs there are; counting ends at max.
unsigned form_count(slice encoded, unsigned max);

// Decodes the first count pairs, of those that there are. text: room for encoded.len octets, which
// pairs point into. A "%" without two hexadecimal digits stands for itself.
void form_decode(slice encoded, skua_field *pairs, unsigned count, char *text);

#endif
