// SPDX-License-Identifier: MIT
//
// TLS on a client's end of a connection, where the environment asks for it: SKUA_TRANSPORT is tls,
// tls-openssl (the server leaves all records to OpenSSL), tls-1.2 or h2, which asks for HTTP/2 by ALPN.
#ifndef TESTS_SCENARIOS_WIRE_TLS_H
#define TESTS_SCENARIOS_WIRE_TLS_H

#include "base/slice.h"
#include "skua/skua.h"

typedef struct wire_tls wire_tls;

// Makes the certificate, if TLS is asked for. Returns false if this build has no TLS.
bool wire_tls_prepare(void);
void wire_tls_forget(void);

// The server's part of the configuration; valid until wire_tls_forget.
skua_tls_desc wire_tls_config(void);

// Begins a handshake. NULL: the client is to speak in the clear.
wire_tls *wire_tls_new(void);
void wire_tls_free(wire_tls *t);

// received: all octets of the wire so far.
void wire_tls_feed(wire_tls *t, slice received);
// Octets for the wire, from the first one that wire_tls_sent has not been told of; valid until the
// next call.
slice wire_tls_unsent(wire_tls *t);
void wire_tls_sent(wire_tls *t, size_t octets);

bool wire_tls_is_open(const wire_tls *t);
void wire_tls_write(wire_tls *t, slice octets); // once it is open
void wire_tls_finish(wire_tls *t);              // close_notify

slice wire_tls_received(const wire_tls *t); // all octets of the session so far
bool wire_tls_is_ended(const wire_tls *t);  // the server's close_notify has come

#endif
