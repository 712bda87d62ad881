// SPDX-License-Identifier: MIT
//
// HTTP/2 as a protocol.
#ifndef SKUA_H2_PROTOCOL_H
#define SKUA_H2_PROTOCOL_H

#ifndef SKUA_NO_HTTP2

#include "exchange/session.h"

extern const protocol_table h2_protocol;

#endif
#endif
