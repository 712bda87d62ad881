// SPDX-License-Identifier: MIT
//
// The ceiling over TLS, on epoll as the one in the clear.
#include "ceiling_tls.h"
#include "ceiling_frames.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { EVENTS_MAX = 512, ACCEPTS_MAX = 64 };

static int epoll;
static bool by_openssl;
static tls_conn *conns; // by descriptor
static tls_flight *flights;

// ---- Flights ----

static tls_flight *flight_take(void)
{
    tls_flight *flight = flights;
    if (flight) flights = flight->next;
    else flight = malloc(sizeof *flight);
    if (!flight) ceiling_die("malloc");
    flight->sent = flight->len = 0;
    return flight;
}

static void flight_give(tls_conn *t)
{
    if (!t->flight) return;
    t->flight->next = flights;
    flights = t->flight;
    t->flight = NULL;
}

char *tls_flight_room(tls_conn *t, size_t octets)
{
    if (!t->flight) t->flight = flight_take();
    if (octets > sizeof t->flight->octets - t->flight->len) ceiling_die("a flight is too long");
    return t->flight->octets + t->flight->len;
}

// ---- Answers ----

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Where the content of the records that are to hold so many octets will lie.
static int records_lay_out(char *records, size_t octets, struct iovec *contents)
{
    int count = 0;
    for (; octets; count++) {
        size_t len = least(octets, TLS_PLAIN_MAX);
        contents[count] = (struct iovec){ records + TLS_HEADER_OCTETS, len };
        records += len + TLS_AROUND_OCTETS;
        octets -= len;
    }
    return count;
}

// A head is shorter than a record.
static void contents_read(const ceiling_conn *c, struct iovec *contents, int count)
{
    size_t left = c->owed % the.answer, place = left ? the.answer - left : 0;
    size_t head = place < the.head ? the.head - place : 0;
    struct iovec all[TLS_STEP_RECORDS];
    memcpy(all, contents, sizeof all);
    memcpy(all->iov_base, the.canned + place, head);
    all->iov_base = (char *)all->iov_base + head;
    all->iov_len -= head;
    size_t wanted = 0;
    for (int i = 0; i < count; i++)
        wanted += all[i].iov_len;
    if (preadv(the.file, all, count, (off_t)(place + head - the.head)) != (ssize_t)wanted)
        ceiling_die("preadv");
}

static void contents_copy(const char *from, const struct iovec *contents, int count)
{
    for (int i = 0; i < count; i++) {
        memcpy(contents[i].iov_base, from, contents[i].iov_len);
        from += contents[i].iov_len;
    }
}

// How many octets of answers are put into a flight at once, and where they lie in memory: to the end
// of one answer, where they are read from a file. Frames lie nowhere, they are put together.
static size_t answers_step(ceiling_conn *c, const char **from)
{
    size_t octets;
    if (the.is_http2) octets = ceiling_frames_run(c);
    else *from = ceiling_owed(c, &octets);
    return least(octets, (size_t)TLS_STEP_RECORDS * TLS_PLAIN_MAX);
}

static void answers_seal(ceiling_conn *c, tls_conn *t)
{
    struct iovec contents[TLS_STEP_RECORDS] = { 0 };
    const char *from = NULL;
    size_t octets = answers_step(c, &from);
    char *records = tls_flight_room(t, octets + (TLS_STEP_RECORDS + 1) * TLS_AROUND_OCTETS);
    int count = records_lay_out(records, octets, contents);
    if (the.is_http2) ceiling_frames_put(c, contents, count);
    else if (the.by_sendfile) contents_read(c, contents, count);
    else contents_copy(from, contents, count);
    for (int i = 0; i < count; i++) {
        char *record = (char *)contents[i].iov_base - TLS_HEADER_OCTETS;
        t->flight->len += tls_record_seal(t, record, contents[i].iov_len);
    }
    ceiling_sent(c, octets);
    if (t->ends) t->flight->len += tls_record_seal_end(t, t->flight->octets + t->flight->len);
}

static void answers_write(ceiling_conn *c, tls_conn *t)
{
    static char staged[TLS_STEP_RECORDS * TLS_PLAIN_MAX];
    struct iovec contents[TLS_STEP_RECORDS] = { { staged, sizeof staged } };
    const char *from = NULL;
    size_t octets = answers_step(c, &from);
    contents->iov_len = octets;
    if (the.is_http2) ceiling_frames_put(c, contents, 1);
    else if (the.by_sendfile) contents_read(c, contents, 1);
    bool is_staged = the.is_http2 || the.by_sendfile;
    if (SSL_write(t->ssl, is_staged ? staged : from, (int)octets) != (int)octets)
        ceiling_die("SSL_write");
    ceiling_sent(c, octets);
    if (t->ends) SSL_shutdown(t->ssl);
}

static void answers_put(ceiling_conn *c, tls_conn *t)
{
    const char *from = NULL;
    t->ends = the.close_after && c->owed == answers_step(c, &from);
    (t->ssl ? answers_write : answers_seal)(c, t);
}

// ---- Sending ----

// Before a close the last octets wait (MSG_MORE) for the FIN.
static ssize_t flight_send(int fd, const tls_conn *t)
{
    const tls_flight *flight = t->flight;
    return send(fd, flight->octets + flight->sent, flight->len - flight->sent,
                MSG_NOSIGNAL | (t->ends ? MSG_MORE : 0));
}

static bool has_room(const tls_conn *t)
{
    return !t->flight || t->flight->len <= TLS_HANDSHAKE_OCTETS;
}

// Sends until nothing is left or the socket is full. Returns false when the connection is over.
static bool conn_send(int fd, ceiling_conn *c, tls_conn *t)
{
    while (t->flight || (c->owed && t->is_open)) {
        if (c->owed && has_room(t)) answers_put(c, t);
        ssize_t n = flight_send(fd, t);
        if (n < 0) return errno == EAGAIN;
        t->flight->sent += (size_t)n;
        if (t->flight->sent == t->flight->len) flight_give(t);
    }
    return !t->ends;
}

// ---- Receiving ----

static bool handshake_go_on(tls_conn *t)
{
    switch (tls_handshake_step(t)) {
    case TLS_STEP_MORE: return true;
    case TLS_STEP_FAILED: return false;
    case TLS_STEP_DONE: break;
    }
    t->is_open = true;
    if (by_openssl) return true;
    tls_handshake_take_over(t);
    tls_records_begin(t);
    return true;
}

static bool take_by_openssl(ceiling_conn *c, tls_conn *t)
{
    static char plain[TLS_PLAIN_MAX];
    for (;;) {
        int n = SSL_read(t->ssl, plain, sizeof plain);
        if (n <= 0) return SSL_get_error(t->ssl, n) == SSL_ERROR_WANT_READ;
        ceiling_count(c, plain, (size_t)n);
    }
}

// Octets of the record at the beginning, or 0 if it has not all come.
static size_t record_octets(const char *octets, size_t len)
{
    const uint8_t *at = (const uint8_t *)octets;
    if (len < TLS_HEADER_OCTETS) return 0;
    size_t octets_whole = TLS_HEADER_OCTETS + ((size_t)at[3] << 8 | at[4]);
    return octets_whole <= len ? octets_whole : 0;
}

static bool conn_keep(tls_conn *t, const char *octets, size_t len)
{
    if (len > TLS_HEADER_OCTETS + TLS_BODY_MAX) return false;
    if (len && !t->kept) t->kept = malloc(TLS_HEADER_OCTETS + TLS_BODY_MAX);
    if (len && !t->kept) ceiling_die("malloc");
    if (len) memcpy(t->kept, octets, len);
    t->kept_len = len;
    return true;
}

static bool take_records(ceiling_conn *c, tls_conn *t, char *octets, size_t len)
{
    for (size_t whole; (whole = record_octets(octets, len)) > 0;) {
        ssize_t n = tls_record_open(t, octets, whole);
        if (n < 0) return false;
        ceiling_count(c, octets + TLS_HEADER_OCTETS, (size_t)n);
        octets += whole;
        len -= whole;
    }
    return conn_keep(t, octets, len);
}

static bool conn_take(ceiling_conn *c, tls_conn *t, char *octets, size_t len)
{
    if (t->ssl) {
        tls_lend(octets, len);
        if (!t->is_open && !handshake_go_on(t)) return false;
        if (t->is_open && t->ssl) return take_by_openssl(c, t);
        octets += len - tls_lent();
        len = tls_lent();
    }
    return t->ssl || take_records(c, t, octets, len);
}

// Receives all there is, behind what was kept.
static bool conn_receive(int fd, ceiling_conn *c, tls_conn *t, bool ending)
{
    for (;;) {
        size_t kept = t->kept_len, room = sizeof the.input - kept;
        ssize_t n = recv(fd, the.input + kept, room, 0);
        if (n < 0) return errno == EAGAIN;
        if (n == 0) return false;
        if (kept) memcpy(the.input, t->kept, kept);
        if (!conn_take(c, t, the.input, kept + (size_t)n)) return false;
        if ((size_t)n < room && !ending) return true;
    }
}

// ---- Connections ----

static void conn_close(int fd, tls_conn *t)
{
    tls_handshake_close(t);
    tls_records_end(t);
    flight_give(t);
    free(t->kept);
    close(fd);
}

static bool conn_serve(int fd, uint32_t events)
{
    ceiling_conn *c = &the.conns[fd];
    tls_conn *t = &conns[fd];
    bool ending = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    bool alive = true;
    if (events & ~(uint32_t)EPOLLOUT) alive = conn_receive(fd, c, t, ending);
    if (alive) alive = conn_send(fd, c, t);
    if (!alive) conn_close(fd, t);
    return alive;
}

static void epoll_watch(int fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) ceiling_die("epoll_ctl");
}

static void accept_one(int fd)
{
    (void)ceiling_conn_new(fd);
    conns[fd] = (tls_conn){ 0 };
    tls_handshake_open(&conns[fd]);
    if (the.close_after && !conn_serve(fd, EPOLLIN)) return;
    epoll_watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

static void accept_all(void)
{
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(the.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        accept_one(fd);
    }
}

static void prepare(void)
{
    if (!the.certificate || !the.key || !the.records) ceiling_usage();
    by_openssl = strcmp(the.records, "openssl") == 0;
    if (the.by_sendfile && the.head > TLS_PLAIN_MAX) ceiling_usage();
    tls_handshakes_prepare(the.certificate, the.key, by_openssl);
    tls_records_prepare(strcmp(the.records, "ready") == 0);
    conns = calloc(CEILING_CONNS_MAX, sizeof *conns);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!conns || epoll < 0) ceiling_die("setting up");
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_MAX];
    ceiling_open(argc, argv);
    prepare();
    epoll_watch(the.listener, EPOLLIN);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == the.listener) accept_all();
            else (void)conn_serve(events[i].data.fd, events[i].events);
        }
    }
}
