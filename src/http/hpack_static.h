// SPDX-License-Identifier: MIT
//
// The static table, RFC 7541 Appendix A. Indices begin at 1, as on the wire.
#ifndef SKUA_HTTP_HPACK_STATIC_H
#define SKUA_HTTP_HPACK_STATIC_H

#ifndef SKUA_NO_HTTP2

#include "http/hpack_field.h"

enum {
    HPACK_STATIC_COUNT = 61,
    HPACK_STATIC_STATUS = 8, // the first of its name
    HPACK_STATIC_CONTENT_LENGTH = 28,
    HPACK_STATIC_CONTENT_TYPE = 31,
    HPACK_STATIC_DATE = 33
};

extern const hpack_field hpack_static[HPACK_STATIC_COUNT]; // index 1 is its first

// The index of the first entry with that name, which is in lower case; 0: none.
unsigned hpack_static_find_name(slice name);

// The index of the entry; 0: none.
unsigned hpack_static_find(slice name, slice value);

#endif
#endif
