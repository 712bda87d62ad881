// SPDX-License-Identifier: MIT
//
// Site response: responds with a file that is ready: the whole file, a part, 304, 406 or 412. A response
// that cannot be given becomes an error page, so that no request is left waiting.
#ifndef SKUA_FILES_SITE_RESPONSE_H
#define SKUA_FILES_SITE_RESPONSE_H

#include "files/cache.h"

typedef enum site_response_outcome {
    SITE_RESPONSE_DONE,
    // A part is asked for, and neither entry nor caller has the file open: nothing was responded.
    SITE_RESPONSE_NEEDS_FILE
} site_response_outcome;

// Responds with an entry. file: the same file, open, or NULL. c: for a boundary.
site_response_outcome site_respond_file(skua_request *request, cache *c, const cached *entry,
                                        skua_file *file);

// Responds with the whole entry, whatever preconditions and ranges the request has.
void site_respond_whole(skua_request *request, const site *s, const cached *entry);

// Responds with 406, RFC 9110 §15.5.7: the client takes neither the file as it is nor in any coding that there is.
void site_respond_unacceptable(skua_request *request, const site *s, const cached *entry);

// Responds with what a failure to open or read path, beneath the site's root, means to the client. What
// is no fault of the client is logged.
void site_respond_failure(skua_request *request, const site *s, slice path, skua_status why);

// Logs that path could not be read. then: what is done about it, after a "; "; or nothing.
void site_response_log(const site *s, slice path, skua_status why, const char *then);

// Responds with 301 to the same path with a "/" behind it; the query is kept.
void site_respond_slash(skua_request *request);

#endif
