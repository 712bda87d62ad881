// SPDX-License-Identifier: MIT
//
// The beginning of requests: from a complete head to a handler.
#ifndef SKUA_EXCHANGE_REQUEST_BEGIN_H
#define SKUA_EXCHANGE_REQUEST_BEGIN_H

#include "exchange/request.h"

// The head is complete: copies it, unless it lies where the request's memory goes on, finds its parts,
// and calls the handler or responds itself.
void request_begin(skua_request *r, const char *octets);

// The head was broken: responds with the fault. octets: what has been read of it.
void request_refuse(skua_request *r, slice octets, fault why);

// The head is not read at all: responds with the fault, and says sentence in place of what the status
// means in general.
void request_refuse_saying(skua_request *r, slice octets, fault why, slice sentence);

// Hands the request to the handler that was found, or responds that there is none.
void request_handle(skua_request *r);

#endif
