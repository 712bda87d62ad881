// SPDX-License-Identifier: MIT
//
// TLS as a transport. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_H
#define SKUA_NET_TLS_H

#include "net/tls_acceptor.h"
#include "net/tls_worker.h"
#include "net/transport.h"

#ifdef SKUA_TLS

// Octets of a session that are put on the wire at once.
enum { TLS_FLIGHT_OCTETS = 262144 };

// The first octets after a rest leave in records of one segment each, so that the peer can use each
// as it comes. A rest is a unit of time or two in which nothing was sent: TCP begins slowly after it.
enum { TLS_SMALL_RECORDS_OCTETS = 16384, TLS_SMALL_RECORD_OCTETS = 1340, TLS_REST_UNIT_BITS = 29 };

// OpenSSL's memory is not ours to count, so a connection is counted with what its SSL object was seen
// to take during a handshake, and after it where records stay OpenSSL's.
enum { TLS_HANDSHAKE_OCTETS = 45056, TLS_OPENSSL_OCTETS = 14336 };

// The server's side of a connection. acceptor: prepared by tls_handshake_prepare.
// Returns: NULL when memory ran out.
transport *tls_accept(tls_worker *w, tls_acceptor *acceptor);

#endif
#endif
