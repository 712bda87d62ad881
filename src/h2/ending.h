// SPDX-License-Identifier: MIT
//
// Endings: of streams, and of the connection's requests with it.
#ifndef SKUA_H2_ENDING_H
#define SKUA_H2_ENDING_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// After anything has happened to the request: lets it leave when it is answered, resets the stream
// if the response has failed, or enters it among those that send. The stream may be gone afterwards.
void h2_ending_settle(h2_stream *stream);

// Resets it: the client is told code. Its request ends as how says. The stream is gone afterwards.
void h2_ending_reset(h2_stream *stream, h2_code code, skua_end how);

// Ends it without a word to the client. The stream is gone afterwards.
void h2_ending_drop(h2_stream *stream, skua_end how);

// Ends the requests whose responses have left.
void h2_ending_release(h2_session *s);

// Ends a request whose response is queued, but will not reach the client whole. The stream is gone
// afterwards.
void h2_ending_spoil(h2_stream *stream, const char *reason);

// Ends every request. Then lets go of the slots of those that are held still: the requests outlive the
// connection, and have no carrier then.
void h2_ending_streams(h2_session *s, skua_end how);
void h2_ending_lingering(h2_session *s);

// The connection has failed: says why in a GOAWAY, and ends every request.
void h2_ending_fail(h2_session *s, fault why);

// Sends GOAWAY: streams above those that have come are not taken any more.
void h2_ending_take_leave(h2_session *s);

// A client that is about to open streams must not lose them: it is warned first, and a PING brings
// back word that it knows (RFC 9113 §6.8).
void h2_ending_warn(h2_session *s);

#endif
#endif
