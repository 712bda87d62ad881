// SPDX-License-Identifier: MIT
//
// application/x-www-form-urlencoded pairs and cookie pairs.
#ifndef SKUA_HTTP_QUERY_H
#define SKUA_HTTP_QUERY_H

#include "base/slice.h"

// The next pair of name=value text, still encoded, from *rest; false at the end. Empty pieces are
// skipped.
bool query_next(slice *rest, slice *name, slice *value);

// Decodes "+" and percent-encoding into out, which has room for text.len octets; a "%" without two
// hexadecimal digits stands for itself. Returns: the length.
size_t query_decode(slice text, char *out);

// Whether encoded text decodes to plain, without writing it.
bool query_equal(slice encoded, slice plain);

// The next pair of a Cookie field value, RFC 6265 §5.4 as servers read it: split at ";", white
// space around trimmed, one pair of double quotes around the value removed; pieces without "=" are
// skipped.
bool cookie_next(slice *rest, slice *name, slice *value);

#endif
