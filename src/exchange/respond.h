// SPDX-License-Identifier: MIT
//
// Responding, as the server's other parts use it.
#ifndef SKUA_EXCHANGE_RESPOND_H
#define SKUA_EXCHANGE_RESPOND_H

#include "exchange/request.h"

enum { RESPOND_FIELDS_OCTETS_MAX = 8192 }; // fields added by a handler

// Whether a handler may set this field.
bool respond_takes_field(slice name, slice value);

// Whether a response may have this status and media type.
skua_status respond_check_type(int status, slice type);

// Queues the head of a response whose content is written by the handler.
skua_status respond_push(skua_request *r, int status, const char *type, int64_t length);

// Memory ran out with a head half written: ends the carrier.  Returns: SKUA_ENOMEM.
skua_status respond_out_of_memory(skua_request *r);

// The content of a pulled or pushed response ends here: with less than was stated, or without
// memory, it fails.
void respond_finish(skua_request *r);

// The content cannot be completed: the peer learns it from a close without the last chunk.
void respond_break(skua_request *r);

// Asks the source of a response in RESPONSE_PULLED for one piece of content.
// Returns: whether it may be asked for another.
bool respond_pull(skua_request *r);

// Responds with an error page, whatever had been added; close: and ends the connection.
void respond_fault(skua_request *r, int status, bool close);

// Refuses a request whose content is being read: responds with that and ends the connection. A
// response that has begun cannot be taken back: then the connection just ends.
void respond_refuse(skua_request *r, int status);

#endif
