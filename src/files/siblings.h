// SPDX-License-Identifier: MIT
//
// Siblings: files that lie beside a file and hold it compressed, as "app.js.br" beside "app.js". A set of them
// has a bit for each content_coding.
#ifndef SKUA_FILES_SIBLINGS_H
#define SKUA_FILES_SIBLINGS_H

#include "base/slice.h"
#include "http/coding.h"

enum { SIBLINGS_SUFFIX_OCTETS = 4 }; // of the longest suffix

// The codings that siblings are looked for in, the one that is usually smallest first.
extern const content_coding siblings_order[CODING_COUNT - 1];

// The end of a sibling's name: ".br".
slice siblings_suffix(content_coding coding);

// The one of set, or CODING_IDENTITY, that the client wants most.
content_coding siblings_choose(skua_request *request, unsigned set);

#endif
