// SPDX-License-Identifier: MIT
//
// The end of requests: callbacks are called, and everything is given back.
#ifndef SKUA_EXCHANGE_REQUEST_END_H
#define SKUA_EXCHANGE_REQUEST_END_H

#include "exchange/request.h"
#include "exchange/worker.h"

// Tells middleware, on_end and the log, gives everything back; what is held only when it has been
// dropped.
void request_end(skua_request *r, skua_end how);

// Tells middleware and on_end, for a request whose blocking handler has returned after its end.
void request_tell_end(skua_request *r, skua_end how);

// Whether anybody is to be told when it ends. A site is released when its last request has ended: its response
// may be of what is released.
static inline bool request_is_watched(const skua_request *r)
{
    return ((uintptr_t)r->end | r->entered | r->sited | r->worker->tells) != 0;
}

// Counts a request that is watched for figures alone and whose response is queued, if little is on its way:
// unsent octets. Returns whether it did.
bool request_is_accounted(const skua_request *r, uint64_t unsent);

// Gives everything back, for a request that nobody is to be told of.
void request_dismiss(skua_request *r);

// Gives back a request that is not held, and tells nobody.
void request_forget(skua_request *r);

// Tells the ticket or the blocking handler that was to respond later that the request is gone.
void request_let_go(skua_request *r);

// Functions of disk_home: the request whose callbacks a carrier is running, and the end of
// everything that it had asked for.
work_asker *request_asker_of(const void *served);
void request_work_is_over(work_asker *asker);

#endif
