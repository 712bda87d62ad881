// SPDX-License-Identifier: MIT
//
// TLS handshake: an SSL object of OpenSSL's, which reads lent octets and writes to a wire queue.
// After a handshake of TLS 1.3 it tells the secrets by which the traffic is protected, so that the
// object may be freed.
#ifndef SKUA_NET_TLS_HANDSHAKE_H
#define SKUA_NET_TLS_HANDSHAKE_H

#include "base/out.h"
#include "net/tls_acceptor.h"

#ifdef SKUA_TLS

enum { TLS_SECRET_OCTETS_MAX = 48 };

// A ClientHello that announces more than this is refused from its header.
enum { TLS_HELLO_OCTETS_MAX = 16384 };

typedef enum tls_step {
    TLS_STEP_MORE,   // the peer is to send more
    TLS_STEP_DONE,   // what has not been read is protected application traffic
    TLS_STEP_FAILED, // an alert may have been queued
    TLS_STEP_IS_HTTP // the first octets are those of a request in the clear; none has been read
} tls_step;

// Counts the records with the outer type application_data in what is written, however it is cut.
typedef struct tls_record_count {
    uint64_t records;
    uint32_t body_left;
    uint8_t header[5];
    uint8_t header_len;
} tls_record_count;

typedef struct tls_handshake {
    tls_choice choice; // first: OpenSSL's callbacks find it by that
    SSL *ssl;
    const char *in; // lent while a step runs, and not read yet
    size_t in_len;
    out_queue *wire;
    bool no_memory;     // for what was to be written
    uint8_t first[9];   // octets of the connection: the header of a record and of its message
    uint8_t first_len;  // as far as they have come
    uint8_t secret_len; // 0: the secrets are not known
    bool counts;        // records are counted: the server's traffic secret is known
    tls_record_count sent;
    uint8_t client_secret[TLS_SECRET_OCTETS_MAX], server_secret[TLS_SECRET_OCTETS_MAX];
} tls_handshake;

// Makes OpenSSL tell the secrets of an acceptor's connections; before tls_handshake_open.
void tls_handshake_prepare(tls_acceptor *acceptor);

// wire: where records are queued, as long as the handshake or its SSL object is used.
// Returns: false when memory ran out.
bool tls_handshake_open(tls_handshake *h, tls_acceptor *acceptor, out_queue *wire);

// Wipes the secrets and frees the SSL object.
void tls_handshake_close(tls_handshake *h);

// Goes on with octets that have come. *octets and *len become those that were not read.
tls_step tls_handshake_step(tls_handshake *h, const char **octets, size_t *len);

// Lends octets to the SSL object after the handshake, for SSL_read.
void tls_handshake_lend(tls_handshake *h, const char *octets, size_t len);

// Counts what is written.
void tls_record_count_add(tls_record_count *count, const char *octets, size_t len);

#endif
#endif
