// SPDX-License-Identifier: MIT
//
// Deadlines of streams, and of what the client has to acknowledge.
#ifndef SKUA_H2_DEADLINE_H
#define SKUA_H2_DEADLINE_H

#ifndef SKUA_NO_HTTP2

#include "exchange/session.h"
#include "h2/stream.h"

// Looks at all of them. Members of the protocol's table: while handlers are awaited, and while the
// client is to take octets.
int64_t h2_deadline_look(session *base);
bool h2_deadline_look_on(session *base);

// Whether there is content to send on it, now or when it is pulled.
bool h2_deadline_has_content(const h2_stream *stream);

#endif
#endif
