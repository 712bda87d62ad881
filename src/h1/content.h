// SPDX-License-Identifier: MIT
//
// Content of a request as HTTP/1 frames it, RFC 9112 §6: by a length, in chunks, or a tunnel's.
#ifndef SKUA_H1_CONTENT_H
#define SKUA_H1_CONTENT_H

#include "h1/session.h"

// The head is complete: what follows it, and what the request reads next.
void h1_content_begin(h1_session *s, skua_request *r);

// Takes content in; returns how many octets were used. 0 with len > 0: the reader is not ready.
size_t h1_content_feed(h1_session *s, skua_request *r, const char *octets, size_t len);

#endif
