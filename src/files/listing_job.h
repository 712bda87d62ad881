// SPDX-License-Identifier: MIT
//
// Listing job: the response to a request for a directory. The directory is read and put in order,
// and the page written piece by piece, on helper threads; the worker only responds.
#ifndef SKUA_FILES_LISTING_JOB_H
#define SKUA_FILES_LISTING_JOB_H

#include "files/cache.h"

// Answers request, later, with the listing of the directory that its path, which ends in "/",
// names; or with 404, 403, 500 or 503. c: of the request's worker and the site.
void listing_job_start(skua_request *request, const site *s, cache *c);

#endif
