// SPDX-License-Identifier: MIT
//
// A client that speaks TLS over whatever carries its octets: OpenSSL's, between memory BIOs.
#ifndef TESTS_TLS_PEER_H
#define TESTS_TLS_PEER_H

#include "base/slice.h"

#ifdef SKUA_TLS

#include <openssl/ssl.h>

typedef struct tls_peer {
    SSL_CTX *context;
    SSL *ssl;
    char *plain; // received so far
    size_t plain_len;
    char wire[32768]; // of the last tls_peer_take
    bool is_open;     // the handshake is complete
    bool ended;       // close_notify came
    bool failed;      // nothing more can be read
} tls_peer;

// Begins a handshake. The certificate of the server is not looked at. version_max: 0 is any.
// protocol: what it asks for by ALPN; NULL: nothing.
void tls_peer_open(tls_peer *p, int version_max, const char *protocol);
void tls_peer_close(tls_peer *p);

// Goes on with octets of the wire, which may be none.
void tls_peer_feed(tls_peer *p, slice wire);

// Protects octets, once the handshake is complete; then close_notify.
void tls_peer_write(tls_peer *p, slice octets);
void tls_peer_end(tls_peer *p);

// Octets for the wire, valid until the next call; empty: there are none.
slice tls_peer_take(tls_peer *p);

#endif
#endif
