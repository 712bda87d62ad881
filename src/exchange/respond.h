// SPDX-License-Identifier: MIT
//
// Responding, as the server's other parts use it.
#ifndef SKUA_EXCHANGE_RESPOND_H
#define SKUA_EXCHANGE_RESPOND_H

#include "exchange/request.h"

// Sentences for the log that more than one function needs.
#define RESPOND_SECOND "a second response was given, and dropped"
#define RESPOND_STATUS "the status of a response is 200 to 599; the response is 500 now"
#define RESPOND_LENGTH "the length of a response is out of range; the response is 500 now"
#define RESPOND_TYPE "the media type of the response cannot be sent; the response is 500 now"
#define RESPOND_UNFINISHED                                                                         \
    "an error function must give the whole response at once; the server's page is sent"
#define RESPOND_NO_MEMORY "no memory for the response, which is 500 now"

static inline bool respond_takes_status(int status)
{
    return status >= 200 && status <= 599;
}

// Whether a response may have this status and media type.
skua_status respond_check_type(int status, slice type);

// Queues the head of a response whose content is written by the handler. function: the name of that of
// skua.h that was called.
skua_status respond_push(skua_request *r, const char *function, int status, const char *type,
                         int64_t length);

// A response that cannot be given because of misuse: 500 is, if none was given before. what: for the
// log; a literal.  Returns: why.
skua_status respond_decline(skua_request *r, const char *function, skua_status why,
                            const char *what);

// The same where the reason may be a client's words, or a lack of memory: it never stops the process.
// None was given before.
skua_status respond_decline_words(skua_request *r, skua_status why, const char *what);

// Memory ran out with a head half written: ends the carrier.  Returns: SKUA_ENOMEM.
skua_status respond_out_of_memory(skua_request *r);

// The content of a pulled or pushed response ends here: with less than was stated, or without
// memory, it fails.
void respond_finish(skua_request *r);

// Asks the source of a response in RESPONSE_PULLED for one piece of content.
// Returns: whether it may be asked for another.
bool respond_pull(skua_request *r);

#endif
