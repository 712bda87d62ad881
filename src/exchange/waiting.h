// SPDX-License-Identifier: MIT
//
// The event that a request waits for. The deadline of its connection depends on it, and so does the
// request's fate when its client leaves.
#ifndef SKUA_EXCHANGE_WAITING_H
#define SKUA_EXCHANGE_WAITING_H

#include "exchange/request.h"

typedef enum waiting_kind {
    WAITING_HEAD,    // the peer sends the rest of the head
    WAITING_CONTENT, // or of the content
    WAITING_TUNNEL,  // either side says something
    WAITING_WORK,    // the library opens, loads, lists, spools, or a helper thread works
    WAITING_ROOM,    // the peer takes octets, and then the response goes on by itself
    WAITING_CREDIT,  // the handler gives back credit for content, of which there may be more
    WAITING_TIME     // what only time can bring: a ticket, a thread, an event, a source
} waiting_kind;

waiting_kind waiting_of(const skua_request *r);

// How long its handler may take, and be silent; 0: for ever.
int64_t waiting_timeout_ns(const skua_request *r);

// Whether its handler has returned without a response, and nothing is known that could bring one:
// no ticket, no hold, no blocking handler and no work of the library's.
bool waiting_is_forgotten(const skua_request *r);

// Says so in the log, once.
void waiting_complain(skua_request *r);

#endif
