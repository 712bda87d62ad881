// SPDX-License-Identifier: MIT
//
// HTTP/2 on a client's end of a connection, where the environment asks for it: SKUA_TRANSPORT is
// h2c, or h2 for the same over TLS. It takes the octets of requests of HTTP/1 and gives those of their responses, in the
// requests' order, while frames of libnghttp2 are on the wire. So the same scenarios are played
// over both.
//
// The client translates what the protocol says otherwise. A response of unknown length has chunks and a
// Transfer-Encoding. A request that asks for the close, and a RST_STREAM(NO_ERROR) before the end
// of a request, close the connection behind the response. A stream that is reset by any other code
// is a connection that is reset there.
#ifndef TESTS_SCENARIOS_WIRE_H2_H
#define TESTS_SCENARIOS_WIRE_H2_H

#include "base/slice.h"

#include <stdbool.h>

typedef struct wire_h2 wire_h2;

// Whether the environment asks for HTTP/2.
bool wire_h2_is_asked(void);
// False: this build has no HTTP/2, or there was no libnghttp2 for the client.
bool wire_h2_is_possible(void);

// Begins a connection. NULL: the client is to speak HTTP/1. scheme: of requests, static.
wire_h2 *wire_h2_new(const char *scheme);
// Opens the windows for all that is to come. To be called before anything is sent.
void wire_h2_widen(wire_h2 *h);
void wire_h2_free(wire_h2 *h);

// received: all octets of the wire so far.
void wire_h2_feed(wire_h2 *h, slice received);
// Octets for the wire, from the first one that wire_h2_sent has not been told of; valid until the
// next call.
slice wire_h2_unsent(wire_h2 *h);
void wire_h2_sent(wire_h2 *h, size_t octets);

void wire_h2_write(wire_h2 *h, slice octets); // of HTTP/1
bool wire_h2_is_held_up(const wire_h2 *h);    // content waits for a window
bool wire_h2_is_finished(const wire_h2 *h);   // the close that was asked for is due

slice wire_h2_received(const wire_h2 *h); // all octets of HTTP/1 so far
bool wire_h2_is_cut(const wire_h2 *h);    // a response was broken off

#endif
