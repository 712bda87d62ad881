// SPDX-License-Identifier: MIT
//
// Upgrade in HTTP/1, RFC 9110 §7.8: whether a request asks for another protocol.
#ifndef SKUA_H1_UPGRADE_H
#define SKUA_H1_UPGRADE_H

#include "base/slice.h"

bool upgrade_is_asked(const skua_request *r, slice protocol);

#endif
