// SPDX-License-Identifier: MIT
//
// Content of requests in DATA frames, and the windows in which it comes.
#ifndef SKUA_H2_CONTENT_H
#define SKUA_H2_CONTENT_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// Content of a stream came. It is delivered, kept while nobody takes it, or dropped.
// Returns: false if the stream has been reset for it, and is gone.
bool h2_content_take(h2_stream *stream, slice octets);

// END_STREAM came with it. The same is returned.
bool h2_content_end(h2_stream *stream);

// Goes on with what is kept, gives the client credit, and settles the stream, which may be gone
// afterwards.
void h2_content_resume(h2_stream *stream);

// The client may send so much more as has been consumed since.
void h2_content_credit(h2_stream *stream);

// While there is no memory: gives a little credit to a stream that has little left.
// Returns: whether the stream gets less than it could take.
bool h2_content_trickle(h2_stream *stream);

// Gives the credit that was held back, once there is memory.
void h2_content_quicken(h2_session *s);

#endif
#endif
