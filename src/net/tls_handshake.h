// SPDX-License-Identifier: MIT
//
// TLS handshake: an SSL object behind a pipe. After a handshake of TLS 1.3 it tells the secrets by
// which the traffic is protected, so that the object may be freed.
#ifndef SKUA_NET_TLS_HANDSHAKE_H
#define SKUA_NET_TLS_HANDSHAKE_H

#include "net/tls_acceptor.h"
#include "net/tls_hello.h"
#include "net/tls_pipe.h"

#ifdef SKUA_TLS

enum { TLS_SECRET_OCTETS_MAX = 48 };

typedef enum tls_step {
    TLS_STEP_MORE,   // the peer is to send more
    TLS_STEP_DONE,   // what has not been read is protected application traffic
    TLS_STEP_FAILED, // an alert may have been queued
    TLS_STEP_IS_HTTP // the first octets are those of a request in the clear; none has been read
} tls_step;

typedef struct tls_handshake {
    tls_choice choice;  // first: OpenSSL's callbacks find it by that
    tls_pipe pipe;      // counts from when the server's traffic secret is known
    tls_hello hello;    // of what has come
    bool has_begun;     // something has
    uint8_t secret_len; // 0: the secrets are not known
    uint8_t client_secret[TLS_SECRET_OCTETS_MAX], server_secret[TLS_SECRET_OCTETS_MAX];
} tls_handshake;

// Makes OpenSSL tell the secrets of an acceptor's connections; before tls_handshake_open.
void tls_handshake_prepare(tls_acceptor *acceptor);

// wire: where records are queued; outlives the handshake, and the pipe if that is moved.
// Returns: false when memory ran out.
bool tls_handshake_open(tls_handshake *h, tls_acceptor *acceptor, out_queue *wire);

// Wipes the secrets, and frees the SSL object unless its pipe has been moved.
void tls_handshake_close(tls_handshake *h);

// Goes on with octets that have come. *octets and *len become those that were not read.
tls_step tls_handshake_step(tls_handshake *h, const char **octets, size_t *len);

#endif
#endif
