// SPDX-License-Identifier: MIT
//
// Entity tags of content: a hash that every machine makes alike.  Spec: RFC 9110 §8.8.3
#ifndef SKUA_HTTP_ETAG_H
#define SKUA_HTTP_ETAG_H

#include "base/slice.h"

enum { ETAG_OCTETS = 35 }; // of a tag with its quotes, and a NUL

// Writes the strong tag of content. Returns its length.
size_t etag_write(slice content, char text[ETAG_OCTETS]);

#endif
