// SPDX-License-Identifier: MIT
//
// Conditions: the fields of a request that make its response depend on the state of a file.
#ifndef SKUA_FILES_FILE_PRECONDITIONS_H
#define SKUA_FILES_FILE_PRECONDITIONS_H

#include "http/preconditions.h"

// Gathers them, repeated lists joined by ", ".  Errors: SKUA_ENOMEM.
skua_status file_preconditions_gather(skua_request *request, preconditions *conditions);

#endif
