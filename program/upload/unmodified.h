// SPDX-License-Identifier: MIT
//
// If-Unmodified-Since of a request that changes a file.  Spec: RFC 9110 §13.1.4
#ifndef PROGRAM_UPLOAD_UNMODIFIED_H
#define PROGRAM_UPLOAD_UNMODIFIED_H

#include <skua/skua.h>

// Whether a file that was changed at mtime_s, since 1970, has been changed since the time that the request names. Where it
// names none that is a date, or If-Match, which counts before it, it has not.
bool upload_is_modified(const skua_request *request, int64_t mtime_s);

#endif
