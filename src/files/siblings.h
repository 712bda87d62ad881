// SPDX-License-Identifier: MIT
//
// Siblings: files that lie beside a file and hold it compressed, as "app.js.br" beside "app.js". A set of them
// has a bit for each content_coding.
#ifndef SKUA_FILES_SIBLINGS_H
#define SKUA_FILES_SIBLINGS_H

#include "files/cache.h"

enum { SIBLINGS_SUFFIX_OCTETS = 4 }; // of the longest suffix

// The end of a sibling's name: ".br".
slice siblings_suffix(content_coding coding);

// Reads "br zstd gzip", in the order of preference, into the site; NULL: all, in that order.
// Returns: false when it names something else, or one twice.
bool siblings_order(site *s, const char *names);

// The coding, of those an entry has or offers, that the client wants most, or CODING_IDENTITY; CODING_COUNT if it
// takes none. Parts are of a file that is there, so whoever asks for some is offered nothing that is made here, unless
// nothing else is acceptable: then Range is passed over.
content_coding siblings_choose(skua_request *request, cache *c, const cached *entry);

// Whether the client refuses a file as it is: "identity;q=0" or "*;q=0".
bool siblings_refuse_identity(const skua_request *request, cache *c);

#endif
