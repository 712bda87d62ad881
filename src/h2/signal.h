// SPDX-License-Identifier: MIT
//
// Signals: the control frames that this side sends.
#ifndef SKUA_H2_SIGNAL_H
#define SKUA_H2_SIGNAL_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Queues a frame of few octets.
void h2_signal_send(h2_session *s, h2_type type, uint8_t flags, uint32_t stream, slice payload);

// The server's first frames: its SETTINGS, and the connection's window.
void h2_signal_greet(h2_session *s);

void h2_signal_reset(h2_session *s, uint32_t stream, h2_code code);

// Asks the client for a sign.
void h2_signal_ping(h2_session *s);

// stream: 0 for the connection.
void h2_signal_credit(h2_session *s, uint32_t stream, uint32_t octets);

// last: the highest stream that is taken. reason: a literal, for whoever reads it.
void h2_signal_goaway(h2_session *s, uint32_t last, h2_code code, const char *reason);

// The window of each stream, as SETTINGS has it.
uint32_t h2_signal_window(const h2_session *s);

// Whether this side has reset the stream of that number, which is not open.
bool h2_signal_has_reset(const h2_session *s, uint32_t stream);

// The number of a stream that is being opened. Forgets what was known of an older one.
void h2_signal_remember(h2_session *s, uint32_t stream);

// The client has reset the stream, and so knows that it is closed.
void h2_signal_forgive(h2_session *s, uint32_t stream);

// The connection may bring so much more as has been taken since.
void h2_signal_credit_all(h2_session *s);

#endif
#endif
