// SPDX-License-Identifier: MIT
//
// Parts of a form whose content is multipart/form-data.
#ifndef SKUA_EXCHANGE_PARTS_H
#define SKUA_EXCHANGE_PARTS_H

#include "exchange/request.h"

// Whether it is multipart/form-data with a boundary.
bool request_is_multipart(const skua_request *r);

#endif
