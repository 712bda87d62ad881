// SPDX-License-Identifier: MIT
//
// Identity: the name by which a request is found in logs.
#ifndef SKUA_EXCHANGE_IDENTITY_H
#define SKUA_EXCHANGE_IDENTITY_H

#include "exchange/request.h"

// The name that it has, by a trusted proxy or because somebody has asked; none is made. {NULL, 0}: none.
slice identity_known(const skua_request *r);

#endif
