// SPDX-License-Identifier: MIT
//
// HTTP/1 as a protocol: the table that a connection calls, and what is decided for the connection.
#ifndef SKUA_H1_PROTOCOL_H
#define SKUA_H1_PROTOCOL_H

#include "exchange/session.h"

extern const protocol_table h1_protocol;

// Members of the protocol's table.
session_fate h1_protocol_fate(session *base);
session_wait h1_protocol_awaits(const session *base);

#endif
