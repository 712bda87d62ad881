// SPDX-License-Identifier: MIT
//
// Framing: responses as frames of HTTP/2. The one place that writes HEADERS and DATA.
#ifndef SKUA_H2_FRAMING_H
#define SKUA_H2_FRAMING_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// The functions by which an exchange uses a stream; see carrier_table.
extern const carrier_table h2_carrier;

// Frames octets of the stream's backlog, as many as the windows allow and one frame holds.
// Returns: false if there is no room or no memory.
bool h2_framing_move(h2_stream *stream);

// Asks the source of the current response for one frame.
void h2_framing_pull(h2_stream *stream);

#endif
#endif
