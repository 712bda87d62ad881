// SPDX-License-Identifier: MIT
//
// TLS 1.3 between a ceiling of WebSockets and its messages: handshakes and records are those of the ceiling over TLS
// (ceiling_tls.h). A record is opened where it was received, and its answer is sealed in the same place. PORT CERTIFICATE KEY.
//
// Invariant: what OpenSSL writes in a handshake is sent before another connection's step is taken, or at least submitted, since
// the bench's client opens its connections one after the other.
#include "ceiling_tls.h"
#include "socket_ceiling.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static tls_conn conns[SOCKET_CONNS_MAX]; // by descriptor
static tls_flight flight;                // of the handshake that is under way

char *tls_flight_room(tls_conn *t, size_t octets)
{
    if (octets > sizeof flight.octets - flight.len) socket_die("a flight is too long");
    t->flight = &flight;
    return flight.octets + flight.len;
}

void socket_prepare(int argc, char **argv)
{
    if (argc < 4) exit(2);
    tls_handshakes_prepare(argv[2], argv[3], false);
    tls_records_prepare(true);
}

void socket_begin(int fd)
{
    conns[fd] = (tls_conn){ 0 };
    tls_handshake_open(&conns[fd]);
}

void socket_end(int fd)
{
    tls_handshake_close(&conns[fd]);
    tls_records_end(&conns[fd]);
}

// Octets of the record at the beginning, or 0 if it has not all come.
static size_t record_octets(const char *octets, size_t len)
{
    const uint8_t *at = (const uint8_t *)octets;
    if (len < TLS_HEADER_OCTETS) return 0;
    size_t whole = TLS_HEADER_OCTETS + ((size_t)at[3] << 8 | at[4]);
    return whole <= len ? whole : 0;
}

static socket_answer request_answer(tls_conn *t, char *record)
{
    t->is_open = true;
    memcpy(record + TLS_HEADER_OCTETS, socket_accepted, socket_accepted_octets);
    return (socket_answer){ record, tls_record_seal(t, record, socket_accepted_octets), false };
}

// An answer is four octets shorter than its message, and ends where that ended.
static socket_answer records_answer(tls_conn *t, char *in, size_t have)
{
    size_t whole = record_octets(in, have);
    if (!whole) return (socket_answer){ 0 };
    ssize_t len = tls_record_open(t, in, whole);
    if (len < 0) socket_die("a record is not data");
    if (!t->is_open) return request_answer(t, in);
    socket_answer answer = socket_echo(in + TLS_HEADER_OCTETS, (size_t)len);
    if (!answer.octets) socket_die("a message came in part");
    char *record = in + (answer.octets - in) - TLS_HEADER_OCTETS;
    return (socket_answer){ record, tls_record_seal(t, record, answer.len), true };
}

// The request may have come with the end of the handshake, behind which the server says nothing.
static socket_answer handshake_answer(tls_conn *t, char *in, size_t have)
{
    flight.len = 0;
    tls_lend(in, have);
    switch (tls_handshake_step(t)) {
    case TLS_STEP_MORE: return (socket_answer){ flight.octets, flight.len, false };
    case TLS_STEP_FAILED: socket_die("a handshake");
    case TLS_STEP_DONE: break;
    }
    tls_handshake_take_over(t);
    tls_records_begin(t);
    size_t left = tls_lent();
    return left ? records_answer(t, in + have - left, left) : (socket_answer){ in, 0, false };
}

socket_answer socket_answer_to(int fd, char *in, size_t have)
{
    tls_conn *t = &conns[fd];
    return t->ssl ? handshake_answer(t, in, have) : records_answer(t, in, have);
}
