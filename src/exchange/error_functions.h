// SPDX-License-Identifier: MIT
//
// Error functions: functions of the program that respond to errors in place of the server's page.
#ifndef SKUA_EXCHANGE_ERROR_FUNCTIONS_H
#define SKUA_EXCHANGE_ERROR_FUNCTIONS_H

#include "exchange/worker.h"
#include "exchange/request.h"

enum { ERROR_FUNCTIONS_MAX = 64 };

// Adds one. *set: NULL at first. Errors: those of skua_on_error; why, room octets, then holds a
// sentence.
skua_status error_functions_add(error_functions **set, const char *prefix, skua_error_fn *fn,
                                void *user, char *why, size_t room);

void error_functions_free(error_functions *set); // NULL is allowed

// Lets the function of the most specific prefix respond. Returns whether it has; if not, everything is
// as before.
bool error_functions_respond(skua_request *r, int status, slice sentence);

#endif
