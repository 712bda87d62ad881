// SPDX-License-Identifier: MIT
//
// Pipe: an SSL object of OpenSSL's that reads octets which it is lent and writes to a wire queue, so
// that nothing is copied twice and a whole flight leaves in one send. Only with SKUA_TLS.
#ifndef SKUA_NET_TLS_PIPE_H
#define SKUA_NET_TLS_PIPE_H

#include "base/out.h"

#ifdef SKUA_TLS

#include <openssl/ssl.h>

// Counts the records with the outer type application_data in what is written, however it is cut.
typedef struct tls_record_count {
    uint64_t records;
    uint32_t body_left;
    uint8_t header[5];
    uint8_t header_len;
} tls_record_count;

typedef struct tls_pipe {
    SSL *ssl;
    const char *in; // lent, and not read yet
    size_t in_len;
    out_queue *wire;
    bool no_memory; // for what was to be written
    bool counts;    // records are counted
    tls_record_count sent;
} tls_pipe;

// ssl: given, also when this fails.  wire: outlives the pipe.
// Returns: false when memory ran out; the pipe is closed then.
bool tls_pipe_open(tls_pipe *p, SSL *ssl, out_queue *wire);

// Moves it to another place. The SSL object then has no app data any more.
void tls_pipe_move(tls_pipe *from, tls_pipe *to);

// Frees the SSL object.
void tls_pipe_close(tls_pipe *p);

// Lends octets to the SSL object.
static inline void tls_pipe_lend(tls_pipe *p, const char *octets, size_t len)
{
    p->in = octets;
    p->in_len = len;
}

// Counts what is written from here on.
static inline void tls_pipe_count(tls_pipe *p)
{
    p->counts = true;
    p->sent = (tls_record_count){ 0 };
}

#endif
#endif
