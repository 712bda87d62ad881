// SPDX-License-Identifier: MIT
//
// The ceiling over TLS 1.3: what a ceiling does, with octets that are protected in between. It has
// TLS_AES_128_GCM_SHA256 alone. Handshakes are OpenSSL's, over a BIO that reads what was received and
// writes to what is sent. Then records are
//
//   ready    ours, each connection with a cipher context for each direction,
//   keyed    ours, by two contexts for all connections, which are keyed again for each record,
//   openssl  OpenSSL's, which is the measure for handshakes.
//
// With --send file the content is read to where it is sealed, in steps of 256 KiB.
#ifndef BENCH_CEILING_TLS_H
#define BENCH_CEILING_TLS_H

#include "ceiling.h"
#include "net/tls_keys.h"

#include <openssl/ssl.h>

enum {
    TLS_HEADER_OCTETS = 5,
    TLS_TAG_OCTETS = 16,
    TLS_AROUND_OCTETS = TLS_HEADER_OCTETS + 1 + TLS_TAG_OCTETS, // of a record of ours
    TLS_PLAIN_MAX = 16384,
    TLS_BODY_MAX = TLS_PLAIN_MAX + 256,
    TLS_STEP_RECORDS = 16,
    TLS_HANDSHAKE_OCTETS = 16384, // room for what OpenSSL writes
    TLS_FLIGHT_OCTETS =
        TLS_STEP_RECORDS * (TLS_PLAIN_MAX + TLS_AROUND_OCTETS) + TLS_HANDSHAKE_OCTETS
};

enum { OPENS, SEALS, DIRECTIONS };

// Octets on their way to a socket. Most are sent at once, so that one flight serves everybody.
typedef struct tls_flight {
    struct tls_flight *next; // of those that are free
    size_t sent, len;
    char octets[TLS_FLIGHT_OCTETS];
} tls_flight;

typedef struct tls_conn {
    SSL *ssl; // NULL: records are ours
    bool is_open;
    bool ends; // its last octets are in the flight
    tls_keys keys[DIRECTIONS];
    EVP_CIPHER_CTX *contexts[DIRECTIONS]; // of "ready"
    char *kept;                           // the beginning of a record
    size_t kept_len;
    tls_flight *flight; // NULL: nothing is on its way
} tls_conn;

// ---- Handshakes: ceiling_handshake.c ----

typedef enum tls_step { TLS_STEP_MORE, TLS_STEP_DONE, TLS_STEP_FAILED } tls_step;

void tls_handshakes_prepare(const char *certificate, const char *key, bool has_ticket);
void tls_handshake_open(tls_conn *t);
void tls_handshake_close(tls_conn *t);

// The same for a client: the handshake over a socket that blocks. It takes any certificate.
void tls_handshakes_prepare_client(void);
void tls_handshake_as_client(tls_conn *t, int fd);

// Octets for OpenSSL to read, lent; what is left of them afterwards.
void tls_lend(const char *octets, size_t len);
size_t tls_lent(void);

tls_step tls_handshake_step(tls_conn *t);

// Derives the keys, after which the SSL object can go.
void tls_handshake_take_over(tls_conn *t);

// ---- Records: ceiling_records.c ----

void tls_records_prepare(bool are_ready);
void tls_records_begin(tls_conn *t);
void tls_records_end(tls_conn *t);

// Protects len octets that lie behind room for a header. Returns the octets of the record.
size_t tls_record_seal(tls_conn *t, char *record, size_t len);

// The same for close_notify, with room for two octets.
size_t tls_record_seal_end(tls_conn *t, char *record);

// Opens a whole record in place. Returns the octets of its content; -1: it is not data.
ssize_t tls_record_open(tls_conn *t, char *record, size_t len);

// ---- Flights: ceiling_tls.c ----

// Where the next octets of a connection's flight come to lie.
char *tls_flight_room(tls_conn *t, size_t octets);

#endif
