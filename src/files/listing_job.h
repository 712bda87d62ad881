// SPDX-License-Identifier: MIT
//
// Listing job: a directory is read, put in order and written on a helper thread; the worker only
// answers.
#ifndef SKUA_FILES_LISTING_JOB_H
#define SKUA_FILES_LISTING_JOB_H

#include "files/site.h"

// Answers request, later, with the listing of the directory that its path, which ends in "/",
// names; or with 404, 403, 500 or 503.
void listing_job_start(skua_request *request, const site *s);

#endif
