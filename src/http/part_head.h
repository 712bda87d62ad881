// SPDX-License-Identifier: MIT
//
// The head of a part of multipart/form-data, RFC 7578 §4, and the parameters that it and
// Content-Type have.
#ifndef SKUA_HTTP_PART_HEAD_H
#define SKUA_HTTP_PART_HEAD_H

#include "base/slice.h"

// Reads a head: field lines, each ended by CRLF, and the empty line. Quoted strings are unescaped
// where they lie, so head is written to. *count: room in fields, and then how many there are.
// Returns NULL, or what is wrong; part is then of no use.
const char *part_head_read(slice head, skua_field *fields, unsigned *count, skua_part *part);

// Returns the part of a value before its first ";", where parameters begin, and cuts it off *rest.
slice param_head(slice *rest);

// The next ";" name=value of *rest, RFC 9110 §5.6.6, a value with its quotes and backslashes if it
// has some.
// Returns false at the end, where *rest is empty, and when what follows is no parameter.
bool param_next(slice *rest, slice *name, slice *value);

// Takes quotes and backslashes off a value, in text, where it lies. A backslash stands for itself
// unless a
// quote or a backslash follows: browsers have sent the paths of files so.
slice param_unquote(slice value, char *text);

#endif
