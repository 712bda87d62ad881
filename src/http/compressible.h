// SPDX-License-Identifier: MIT
//
// Which media types get shorter by a content coding.
#ifndef SKUA_HTTP_COMPRESSIBLE_H
#define SKUA_HTTP_COMPRESSIBLE_H

#include "base/slice.h"

enum { COMPRESSIBLE_OCTETS_MIN = 512 }; // below that a response leaves in one packet either way

// Whether a type, perhaps with parameters, is among those that gain.
// types: "text/html", "text/*" or "+json" with spaces between them; NULL for the usual ones.
bool compressible_type(slice type, const char *types);

#endif
