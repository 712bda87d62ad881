// SPDX-License-Identifier: MIT
//
// Ready streams: which of those that have content to send, and a window for it, sends next (RFC 9218).
#ifndef SKUA_H2_READY_H
#define SKUA_H2_READY_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Enters a stream among those that are ready, if it has content and its own window is open; takes it
// from among them if not.
void h2_ready_update(h2_stream *stream);

// Takes it from among them.
void h2_ready_remove(h2_stream *stream);

void h2_ready_set_priority(h2_stream *stream, h2_priority priority);

// The stream whose turn it is. There is one.
h2_stream *h2_ready_choose(h2_session *s);

#endif
#endif
