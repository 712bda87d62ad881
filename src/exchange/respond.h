// SPDX-License-Identifier: MIT
//
// Responding, as the server's other parts use it.
#ifndef SKUA_EXCHANGE_RESPOND_H
#define SKUA_EXCHANGE_RESPOND_H

#include "exchange/request.h"

// Misuse that more than one function can meet.
#define RESPOND_SECOND "a second response was given, and dropped"
#define RESPOND_LENGTH "the length of a response is out of range; the response is 500 now"

// Whether a response may have this status and media type.
skua_status respond_check_type(int status, slice type);

// Queues the head of a response whose content is written by the handler. function: the name of that of
// skua.h that was called.
skua_status respond_push(skua_request *r, const char *function, int status, const char *type,
                         int64_t length);

// A response that cannot be given: 500 is, if none was given before. what: misuse, for the log; NULL if
// that has been told.  Returns: why.
skua_status respond_decline(skua_request *r, const char *function, skua_status why,
                            const char *what);

// Memory ran out with a head half written: ends the carrier.  Returns: SKUA_ENOMEM.
skua_status respond_out_of_memory(skua_request *r);

// The content of a pulled or pushed response ends here: with less than was stated, or without
// memory, it fails.
void respond_finish(skua_request *r);

// Asks the source of a response in RESPONSE_PULLED for one piece of content.
// Returns: whether it may be asked for another.
bool respond_pull(skua_request *r);

#endif
