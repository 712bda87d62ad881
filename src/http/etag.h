// SPDX-License-Identifier: MIT
//
// Entity tags of content: a hash that every machine makes alike.  Spec: RFC 9110 §8.8.3
#ifndef SKUA_HTTP_ETAG_H
#define SKUA_HTTP_ETAG_H

#include "base/siphash.h"

enum { ETAG_OCTETS = 35 }; // of a tag with its quotes, and a NUL

// Writes the strong tag of content. Returns its length.
size_t etag_write(slice content, char text[ETAG_OCTETS]);

// The same of content that comes piece by piece, by the functions of siphash_stream: begins with it, and writes
// the tag of its hash.
void etag_begin(siphash_stream *stream);
size_t etag_write_hash(siphash_wide_hash hash, char text[ETAG_OCTETS]);

#endif
