// SPDX-License-Identifier: MIT
//
// Hints: what may help when a server does not start.
#ifndef PROGRAM_HINTS_H
#define PROGRAM_HINTS_H

#include "common/options.h"

// Says on standard error why the directory cannot be served, if so. Returns whether it looks as if
// it could.
bool hints_check_dir(const char *dir);

// Says what went wrong with the server, and what to try.
void hints_say(const skua_server *server, skua_status status, const options *o);

#endif
