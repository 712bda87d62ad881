// SPDX-License-Identifier: MIT
//
// Records are those of the ceiling over TLS (ceiling_tls.h), with the keys the other way round.
#include "socket_client_tls.h"

#include "ceiling_tls.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    OPENED_EACH = 16, // so many records come for one that is opened
    BEFORE_MAX =
        64, // records that may have come while they were OpenSSL's: tickets, the answer, a message
    INPUT_OCTETS = 65536
};

char *tls_flight_room(tls_conn *t, size_t octets)
{
    (void)t, (void)octets;
    ceiling_die("a client has no flight");
}

void client_tls_prepare(void)
{
    (void)sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
    tls_handshakes_prepare_client();
    tls_records_prepare(true);
}

tls_conn *client_tls_open(int fd)
{
    tls_conn *t = calloc(1, sizeof *t);
    if (!t) ceiling_die("calloc");
    tls_handshake_as_client(t, fd);
    return t;
}

static ssize_t by_openssl(tls_conn *t, int n)
{
    if (n > 0) return n;
    int why = SSL_get_error(t->ssl, n);
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}

ssize_t client_tls_send(tls_conn *t, int fd, const char *octets, size_t len)
{
    static char record[TLS_PLAIN_MAX + TLS_AROUND_OCTETS];
    if (t->ssl) return by_openssl(t, SSL_write(t->ssl, octets, (int)len));
    if (len > TLS_PLAIN_MAX) len = TLS_PLAIN_MAX;
    memcpy(record + TLS_HEADER_OCTETS, octets, len);
    size_t whole = tls_record_seal(t, record, len);
    if (send(fd, record, whole, MSG_NOSIGNAL) != (ssize_t)whole)
        ceiling_die("a record did not leave");
    return (ssize_t)len;
}

ssize_t client_tls_recv(tls_conn *t, char *octets, size_t len)
{
    return by_openssl(t, SSL_read(t->ssl, octets, (int)len));
}

// The request and one message have been sent so far, a record each.
void client_tls_take_over(tls_conn *t)
{
    if (SSL_has_pending(t->ssl)) ceiling_die("more has come than was asked for");
    tls_handshake_take_over(t);
    tls_records_begin(t);
    t->keys[SEALS].sequence = 2;
    t->keys[OPENS].sequence = UINT64_MAX;
}

// Finds the number of the first record of ours: it can be opened with that one alone.
static void find_sequence(tls_conn *t, const char *record, size_t whole)
{
    static char copy[INPUT_OCTETS];
    for (uint64_t n = 0; n < BEFORE_MAX; n++) {
        t->keys[OPENS].sequence = n;
        memcpy(copy, record, whole);
        if (tls_record_open(t, copy, whole) < 0) continue;
        t->keys[OPENS].sequence = n;
        return;
    }
    ceiling_die("a record cannot be opened");
}

static void tell(tls_conn *t, char *record, size_t whole, client_tls_told *told, void *user)
{
    if (t->keys[OPENS].sequence == UINT64_MAX) find_sequence(t, record, whole);
    if (whole < TLS_AROUND_OCTETS) ceiling_die("a record is too short");
    if (t->keys[OPENS].sequence % OPENED_EACH) {
        t->keys[OPENS].sequence++;
        told(user, NULL, whole - TLS_AROUND_OCTETS);
        return;
    }
    ssize_t len = tls_record_open(t, record, whole);
    if (len < 0) ceiling_die("a record cannot be opened");
    told(user, record + TLS_HEADER_OCTETS, (size_t)len);
}

static size_t record_octets(const char *octets, size_t len)
{
    const uint8_t *at = (const uint8_t *)octets;
    return len < TLS_HEADER_OCTETS ? SIZE_MAX : TLS_HEADER_OCTETS + ((size_t)at[3] << 8 | at[4]);
}

static void keep(tls_conn *t, const char *octets, size_t len)
{
    if (len && !t->kept) t->kept = malloc(TLS_HEADER_OCTETS + TLS_BODY_MAX);
    if (len > TLS_HEADER_OCTETS + TLS_BODY_MAX || (len && !t->kept))
        ceiling_die("a record in part");
    if (len) memcpy(t->kept, octets, len);
    t->kept_len = len;
}

ssize_t client_tls_take(tls_conn *t, int fd, client_tls_told *told, void *user)
{
    static char in[INPUT_OCTETS];
    size_t at = 0, len = t->kept_len;
    if (len) memcpy(in, t->kept, len);
    ssize_t n = recv(fd, in + len, sizeof in - len, 0);
    if (n <= 0) return n;
    len += (size_t)n;
    for (size_t whole; (whole = record_octets(in + at, len - at)) <= len - at; at += whole)
        tell(t, in + at, whole, told, user);
    keep(t, in + at, len - at);
    return n;
}
