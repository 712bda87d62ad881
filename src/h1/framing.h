// SPDX-License-Identifier: MIT
//
// Framing: responses as octets of HTTP/1, RFC 9112. The one place that writes status lines, field
// lines, chunks, interim responses and 101.
#ifndef SKUA_H1_FRAMING_H
#define SKUA_H1_FRAMING_H

#include "exchange/carrier.h"

// The functions by which an exchange uses a session; see carrier_table.
extern const carrier_table h1_carrier;

#endif
