// SPDX-License-Identifier: MIT
//
// Complaints: log lines that tell a programmer what a handler has done wrong.
#ifndef SKUA_EXCHANGE_COMPLAINT_H
#define SKUA_EXCHANGE_COMPLAINT_H

#include "exchange/request.h"

// Writes a line: the request, what is wrong with its response, and the route. The same words are
// written once a second at most. what: a literal.
void complain(const skua_request *r, const char *what);

// The same for misuse that skua_config.strict makes fatal: with it the process stops. function: the
// name of that of skua.h that was called.
void complain_of_misuse(const skua_request *r, const char *function, const char *what);

// The same where nothing more is taken for the response, unless the handler could not know.
// Returns: SKUA_ESTATE, or SKUA_ECLOSED when the request has ended.
skua_status complain_of_late(const skua_request *r, const char *function, const char *what);

#endif
