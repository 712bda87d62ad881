// SPDX-License-Identifier: MIT
//
// Masks the values of secret parameters in the query of a target or of a URL.
#ifndef SKUA_LOG_MASK_H
#define SKUA_LOG_MASK_H

#include "base/slice.h"

// secrets: names, separated by spaces, in any case. Returns: text itself when it has none of them, or else a copy in
// out, cut to room, with REDACTED for each value.
slice mask_secrets(slice text, const char *secrets, char *out, size_t room);

#endif
