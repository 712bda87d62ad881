// SPDX-License-Identifier: MIT
//
// Reply: what a request gets of a file that is ready: all of it, a part, 304 or 412. Whoever
// replies has the last word: an answer that cannot be given becomes an error page, so that no
// request is left waiting.
#ifndef SKUA_FILES_REPLY_H
#define SKUA_FILES_REPLY_H

#include "files/cache.h"

typedef enum reply_outcome {
    REPLY_DONE,
    REPLY_NEEDS_FILE // a part is asked for, and neither entry nor caller has the file open; not
                     // answered
} reply_outcome;

// Answers with an entry. file: the same file, open, or NULL. c: for a boundary.
reply_outcome reply_file(skua_request *request, cache *c, const cached *entry, skua_file *file);

// Answers with an error page.
void reply_error(skua_request *request, int status);

// Answers with 301 to the same path with a "/" behind it; the query is kept.
void reply_slash(skua_request *request);

// Looks after a status that an answering function returned.
void reply_check(skua_request *request, skua_status status);

#endif
