// SPDX-License-Identifier: MIT
//
// Identity: the identifier by which a request is found in logs.
#ifndef SKUA_EXCHANGE_IDENTITY_H
#define SKUA_EXCHANGE_IDENTITY_H

#include "exchange/request.h"

// The name that it has, by a trusted proxy or because somebody has asked; none is made. {NULL, 0}: none.
slice identity_known(const skua_request *r);

// The trace-id that its client has sent in a valid traceparent, for logs that have a member for it; else {NULL, 0}.
// The parent-id lies behind it and a "-".
slice identity_trace(const skua_request *r);

#endif
