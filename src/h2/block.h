// SPDX-License-Identifier: MIT
//
// Header blocks: HEADERS and their CONTINUATIONs become requests, or trailers.
#ifndef SKUA_H2_BLOCK_H
#define SKUA_H2_BLOCK_H

#ifndef SKUA_NO_HTTP2

#include "h2/session.h"

// A HEADERS or CONTINUATION frame whose head has been checked. Returns: a fault, if it is one.
fault h2_block_take(h2_session *s, const h2_frame *frame, slice payload);

// A header block that has come whole; ends: with END_STREAM. Returns: a fault, if it is one.
fault h2_block_take_whole(h2_session *s, uint32_t number, slice lines, bool ends);

// Gives back what is kept of a block in part.
void h2_block_forget(h2_session *s);

#endif
#endif
