// SPDX-License-Identifier: MIT
//
// Filter: a program's function through which the content of a response passes before it is framed.
// Content that is whole and short is filtered at once; everything else becomes content that is pulled,
// or stays content that is pushed.
#ifndef SKUA_EXCHANGE_FILTER_H
#define SKUA_EXCHANGE_FILTER_H

#include "exchange/request.h"

// Asks the filter of a request whether it wants the response. If it does, given has another source
// then, which is the filter's, and keeps the first one: see filter_cancel.
skua_status filter_begin(skua_request *r, response *given);

// The response was not queued after all: its first source stays the caller's.
void filter_cancel(skua_request *r);

// Content that is pushed.  Returns: SKUA_OK; or why the response has been broken.
skua_status filter_push(skua_request *r, slice octets, skua_flush flush);

// The request ends, and everything goes that its filter has.
void filter_let_go(skua_request *r);

// Whether content that is written passes through a filter.
static inline bool filter_runs(const skua_request *r)
{
    return r->filtering == FILTERING_RUNS;
}

#endif
