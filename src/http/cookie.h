// SPDX-License-Identifier: MIT
//
// Set-Cookie, as RFC 6265bis §4.1 lets servers write it.
#ifndef SKUA_HTTP_COOKIE_H
#define SKUA_HTTP_COOKIE_H

#include "base/slice.h"

// Octets beyond which user agents ignore a cookie or an attribute, RFC 6265bis §5.6.
enum { COOKIE_PAIR_OCTETS_MAX = 4096, COOKIE_ATTRIBUTE_OCTETS_MAX = 1024 };

// Whether it can be written, and would be kept.
// Errors: SKUA_EINVAL against the grammar, or a combination that user agents refuse; SKUA_ELIMIT
// longer than they keep.
skua_status cookie_check(const skua_cookie *cookie);

// Room that is enough for cookie_write.
size_t cookie_room(const skua_cookie *cookie);

// Writes the value of a Set-Cookie field for a cookie that cookie_check has passed.
// Returns: its length.
size_t cookie_write(const skua_cookie *cookie, char *out);

#endif
