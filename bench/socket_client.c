// SPDX-License-Identifier: MIT
//
// The client of the bench of WebSockets: PORT PATH CONNECTIONS OCTETS SECONDS [publish|tls].
//
// It opens the connections, exchanges one message on each, prints "ready" and waits for a line. Then each connection
// sends a message whenever its last one has come back. With publish the first connection alone sends, whenever its last
// message has come to all of them. At the end it prints how many messages have come. Every octet that comes is
// compared with what should; another one ends it with 1. With tls it speaks TLS 1.3 (socket_client_tls.h), takes any
// certificate, and compares the octets of one record in 16; of the others the length.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef SKUA_TLS
#include "socket_client_tls.h"
#else
typedef struct tls_conn tls_conn;
#endif

enum {
    LEAST_ROOM = 32768, // of a recv for records
    EVENTS_MAX = 512,
    HEAD_OCTETS_MAX = 14,
    INPUT_OCTETS = 262144,
    ANSWER_OCTETS_MAX = 1024
};

typedef struct conn {
    int fd;
    tls_conn *tls;    // NULL: in the clear
    size_t sent, got; // octets of the frame that goes, of the one that comes
} conn;

static conn *conns;
static int count, port, epoll;
static const char *path;
static bool publishes, secure;
static char *frame, *back; // masked as it goes, and as it comes
static size_t frame_octets, back_octets;
static uint64_t came;
static int missing; // connections that the published message has yet to come to
static bool goes_on = true;
static bool taken_over; // from OpenSSL, over TLS

enum { PATIENCE_MS = 10000 };

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

// Returns: the octets of the head.
static size_t write_head(char *to, size_t octets, int mask)
{
    to[0] = (char)0x82;
    if (octets < 126) {
        to[1] = (char)(mask | (int)octets);
        return 2;
    }
    size_t wide = octets < 65536 ? 2 : 8;
    to[1] = (char)(mask | (wide == 2 ? 126 : 127));
    for (size_t i = 0; i < wide; i++)
        to[2 + i] = (char)(octets >> 8 * (wide - 1 - i));
    return 2 + wide;
}

static void write_frames(size_t octets)
{
    static const char key[4] = { 0x37, (char)0xfa, 0x21, 0x3d };
    frame = malloc(HEAD_OCTETS_MAX + octets);
    back = malloc(HEAD_OCTETS_MAX + octets);
    if (!frame || !back) die("malloc");
    frame_octets = write_head(frame, octets, 128);
    memcpy(frame + frame_octets, key, sizeof key);
    frame_octets += sizeof key;
    back_octets = write_head(back, octets, 0);
    for (size_t i = 0; i < octets; i++) {
        char octet = (char)('a' + i % 26);
        frame[frame_octets++] = (char)(octet ^ key[i % sizeof key]);
        back[back_octets++] = octet;
    }
}

// ---- The wire: as send and recv ----

static ssize_t put(conn *c, const char *octets, size_t len)
{
#ifdef SKUA_TLS
    if (c->tls) return client_tls_send(c->tls, c->fd, octets, len);
#endif
    return send(c->fd, octets, len, MSG_NOSIGNAL);
}

static ssize_t take(conn *c, char *octets, size_t len)
{
#ifdef SKUA_TLS
    if (c->tls) return client_tls_recv(c->tls, octets, len);
#endif
    return recv(c->fd, octets, len, 0);
}

// ---- Opening ----

static void ask(conn *c)
{
    char text[ANSWER_OCTETS_MAX];
    int len = snprintf(
        text, sizeof text,
        "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        path);
    if (put(c, text, (size_t)len) != len) die("send");
    for (len = 0; len < 4 || memcmp(text + len - 4, "\r\n\r\n", 4) != 0; len++) {
        if (len == sizeof text || take(c, text + len, 1) != 1) die("the answer");
    }
    if (memcmp(text, "HTTP/1.1 101", 12) != 0) die("no socket was opened");
}

static void open_one(conn *c)
{
    const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof address)) die("connect");
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
#ifdef SKUA_TLS
    if (secure) c->tls = client_tls_open(c->fd);
#endif
    ask(c);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK)) die("fcntl");
    c->sent = frame_octets;
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event)) die("epoll_ctl");
}

// ---- Messages ----

static void send_on(conn *c)
{
    while (c->sent < frame_octets) {
        ssize_t n = put(c, frame + c->sent, frame_octets - c->sent);
        if (n < 0 && errno != EAGAIN) die("send");
        if (n < 0) return;
        c->sent += (size_t)n;
    }
}

static void send_one(conn *c)
{
    c->sent = 0;
    send_on(c);
}

static void message_came(conn *c)
{
    came++;
    c->got = 0;
    if (publishes && --missing) return;
    missing = publishes ? count : missing - 1;
    if (goes_on) send_one(publishes ? conns : c);
}

// octets: NULL if they are not known.
static void compare(void *user, const char *octets, size_t len)
{
    conn *c = user;
    for (size_t at = 0, step; at < len; at += step) {
        step = len - at < back_octets - c->got ? len - at : back_octets - c->got;
        if (octets && memcmp(octets + at, back + c->got, step) != 0) {
            (void)fprintf(stderr, "another message came back\n");
            exit(1);
        }
        c->got += step;
        if (c->got == back_octets) message_came(c);
    }
}

// Returns: as recv. *room is set to the octets that the socket was asked for; to 0 if OpenSSL asked.
static ssize_t receive_some(conn *c, ssize_t *room)
{
    static char input[INPUT_OCTETS];
#ifdef SKUA_TLS
    *room = LEAST_ROOM;
    if (taken_over) return client_tls_take(c->tls, c->fd, compare, c);
#endif
    *room = c->tls ? 0 : INPUT_OCTETS;
    ssize_t n = take(c, input, sizeof input);
    if (n > 0) compare(c, input, (size_t)n);
    return n;
}

// A socket that has given less than it was asked for is heard of when it has more.
static void receive(conn *c)
{
    for (;;) {
        ssize_t room, n = receive_some(c, &room);
        if (n == 0) die("the server has closed");
        if (n < 0 && errno != EAGAIN) die("recv");
        if (n < room) return;
    }
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void begin(void)
{
    missing = count;
    for (int i = 0; i < (publishes ? 1 : count); i++)
        send_one(&conns[i]);
}

// Says what is outstanding: octets that the server has not taken, or messages that it has not sent back.
static _Noreturn void die_waiting(void)
{
    int unsent = 0, begun = 0;
    for (int i = 0; i < count; i++) {
        unsent += conns[i].sent < frame_octets;
        begun += conns[i].got > 0;
    }
    (void)fprintf(
        stderr,
        "no message came for %d s: %llu had come; of %d connections %d have not sent all of theirs, "
        "%d have got part of one",
        PATIENCE_MS / 1000, (unsigned long long)came, count, unsent, begun);
    if (publishes) (void)fprintf(stderr, ", the published one is missing on %d", missing);
    (void)fputs("\n", stderr);
    exit(1);
}

static void turn(void)
{
    struct epoll_event events[EVENTS_MAX];
    int n = epoll_wait(epoll, events, EVENTS_MAX, PATIENCE_MS);
    if (!n) die_waiting();
    for (int i = 0; i < n; i++) {
        conn *c = events[i].data.ptr;
        send_on(c);
        if (events[i].events & ~(uint32_t)EPOLLOUT) receive(c);
    }
}

// Once, without going on.
static void exchange_one(void)
{
    goes_on = false;
    begin();
    while (came < (uint64_t)count)
        turn();
    goes_on = true;
}

static void take_over(void)
{
#ifdef SKUA_TLS
    for (int i = 0; secure && i < count; i++)
        client_tls_take_over(conns[i].tls);
#endif
    taken_over = secure;
}

int main(int argc, char **argv)
{
    if (argc < 6) return 2;
    port = (int)strtol(argv[1], NULL, 10), path = argv[2], count = (int)strtol(argv[3], NULL, 10);
    publishes = argc > 6 && strcmp(argv[6], "publish") == 0;
    secure = argc > 6 && strcmp(argv[6], "tls") == 0;
#ifdef SKUA_TLS
    if (secure) client_tls_prepare();
#else
    if (secure) return 2;
#endif
    write_frames((size_t)strtol(argv[4], NULL, 10));
    conns = calloc((size_t)count, sizeof *conns);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!conns || epoll < 0) die("begin");
    for (int i = 0; i < count; i++)
        open_one(&conns[i]);
    exchange_one();
    take_over();
    (void)puts("ready");
    (void)fflush(stdout);
    if (getchar() == EOF) return 1;
    came = 0;
    begin();
    double until = now() + strtod(argv[5], NULL);
    while (now() < until)
        turn();
    (void)printf("%llu\n", (unsigned long long)came);
    (void)fflush(stdout);
    return getchar() == EOF;
}
