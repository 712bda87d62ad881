// SPDX-License-Identifier: MIT
//
// Error responses: pages, or a line of text.
#ifndef SKUA_EXCHANGE_ERROR_H
#define SKUA_EXCHANGE_ERROR_H

#include "exchange/request.h"

// Responds with an error page, whatever had been added; close: and ends the connection.
void error_respond(skua_request *r, int status, bool close);

// Refuses a request whose content is being read: responds with that and ends the connection. A
// response that has begun cannot be taken back: then the connection just ends.
void error_refuse(skua_request *r, int status);

#endif
