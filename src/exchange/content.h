// SPDX-License-Identifier: MIT
//
// Content of a request: passes the octets that a protocol delivers to their reader.
#ifndef SKUA_EXCHANGE_CONTENT_H
#define SKUA_EXCHANGE_CONTENT_H

#include "exchange/carrier.h"
#include "exchange/request.h"

// Content came, of at most the length that was stated. With no length stated it is first held
// against skua_content_limit.
void content_deliver(skua_request *r, slice octets);
void content_deliver_unstated(skua_request *r, slice octets);

// The framing of the content is broken: responds why if nothing was responded yet.
void content_refuse(skua_request *r, fault why);

// No content is accepted now, so the socket must not be read.
bool content_is_blocked(const skua_request *r);

// The reader takes nothing until it goes on. That there will be no more it is told all the same.
void content_pause(skua_request *r);
void content_resume(skua_request *r);

// More octets of a tunnel are on their way than are received at once: they come in longer pieces, if the connection has
// nothing else, as a transport, between them and its socket.
void content_expect_many(const skua_request *r);

// Gives back all that the reader has just been given. A connection that carries nothing else has not yet decided
// whether to read on, so that nothing is to be told.
static inline void content_take(skua_request *r, size_t n)
{
    if (r->carrier->number == 0 && r->unconsumed == n) r->unconsumed = 0;
    else skua_content_consume(r, n);
}

// The content is complete, or will never be.
void content_end(skua_request *r);
void content_lost(skua_request *r);

// The client waits for a 100 (Continue) before it sends content.
bool request_awaits_continue(const skua_request *r);

// Gives back what a collection holds.
void content_free(skua_request *r);

#endif
