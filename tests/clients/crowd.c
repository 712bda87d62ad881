// SPDX-License-Identifier: MIT
//
// crowd PORT SOCKETS ROUNDS: opens so many WebSockets at /live/crowd of the server of topics, publishes a message
// every 100 ms, and counts what comes to each of them. Says how many messages came and how many are missing, and
// how long the slowest hundredth took. All sockets read all the time.

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 512, PAYLOAD = 19, FRAME = 2 + PAYLOAD, PERIOD_MS = 100, PATIENCE_MS = 20000 };

typedef struct member {
    int fd;
    unsigned messages, len;
    char part[FRAME]; // of a frame that has not come whole
} member;

static uint64_t samples_count, came;
static uint32_t *samples; // microseconds

static void stop(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int connect_to(unsigned port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)(void *)&at, sizeof at)) stop("connect");
    return fd;
}

static void send_all(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text)) stop("send");
}

// Reads up to the end of a head, octet by octet, so that nothing behind it is taken.
static void skip_head(int fd, const char *status)
{
    char head[1024];
    size_t len = 0;
    while (len < 4 || memcmp(head + len - 4, "\r\n\r\n", 4) != 0) {
        if (len == sizeof head || recv(fd, head + len, 1, 0) != 1) stop("head");
        len++;
    }
    if (len < 12 || memcmp(head + 9, status, 3) != 0) stop("status");
}

static void join_crowd(member *m, unsigned port)
{
    char welcome[9];
    m->fd = connect_to(port);
    send_all(m->fd,
             "GET /live/crowd HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    skip_head(m->fd, "101");
    if (recv(m->fd, welcome, sizeof welcome, MSG_WAITALL) != sizeof welcome) stop("welcome");
}

// The server pings those who say nothing for long.
static bool answer_ping(member *m)
{
    static const char pong[] = { (char)0x8a, (char)0x80, 0, 0, 0, 0 };
    if (m->part[0] != (char)0x89 || m->part[1] != 0) return false;
    if (send(m->fd, pong, sizeof pong, MSG_NOSIGNAL) != sizeof pong) stop("send");
    m->len = 0;
    return true;
}

static void take_frame(member *m)
{
    if (m->part[0] != (char)0x81 || m->part[1] != PAYLOAD) {
        (void)fprintf(stderr, "crowd: a frame that was not published\n");
        exit(1);
    }
    char text[PAYLOAD + 1];
    memcpy(text, m->part + 2, PAYLOAD);
    text[PAYLOAD] = 0;
    int64_t took = (now_ns() - strtoll(text, NULL, 10)) / 1000;
    samples[samples_count++] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    m->messages++;
    m->len = 0;
    came++;
}

static void read_member(member *m)
{
    char octets[4096];
    ssize_t n = recv(m->fd, octets, sizeof octets, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) stop("a socket has ended");
    for (ssize_t i = 0; i < n; i++) {
        m->part[m->len++] = octets[i];
        if (m->len == 2 && answer_ping(m)) continue;
        if (m->len == FRAME) take_frame(m);
    }
}

static void read_for(int set, int64_t until_ns, uint64_t wanted)
{
    struct epoll_event events[EVENTS];
    for (int64_t left; came < wanted && (left = until_ns - now_ns()) > 0;) {
        int n = epoll_wait(set, events, EVENTS, (int)(left / 1000000) + 1);
        for (int i = 0; i < n; i++)
            read_member(events[i].data.ptr);
    }
}

static void publish(int fd)
{
    char request[256];
    int n = snprintf(request, sizeof request,
                     "POST /publish/crowd HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%019lld",
                     PAYLOAD, (long long)now_ns());
    if (n < 0 || (size_t)n >= sizeof request) stop("request");
    send_all(fd, request);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    unsigned port = (unsigned)strtoul(argv[1], NULL, 10);
    size_t count = strtoul(argv[2], NULL, 10), rounds = strtoul(argv[3], NULL, 10);
    struct rlimit files = { .rlim_cur = count + 64, .rlim_max = count + 64 };
    if (setrlimit(RLIMIT_NOFILE, &files)) stop("descriptors");
    member *members = calloc(count, sizeof *members);
    samples = calloc(count * rounds, sizeof *samples);
    int set = epoll_create1(EPOLL_CLOEXEC);
    if (!members || !samples || set < 0) stop("memory");
    for (size_t i = 0; i < count; i++) {
        join_crowd(&members[i], port);
        struct epoll_event event = { .events = EPOLLIN, .data.ptr = &members[i] };
        if (epoll_ctl(set, EPOLL_CTL_ADD, members[i].fd, &event)) stop("epoll");
    }
    int publisher = connect_to(port);
    int64_t next = now_ns();
    for (size_t round = 0; round < rounds; round++) {
        publish(publisher);
        next += (int64_t)PERIOD_MS * 1000000;
        read_for(set, next, UINT64_MAX);
    }
    uint64_t all = (uint64_t)count * rounds, before;
    do { // as long as some still come
        before = came;
        read_for(set, now_ns() + (int64_t)PATIENCE_MS * 1000000, all);
    } while (came < all && came > before);
    size_t complete = 0;
    for (size_t i = 0; i < count; i++)
        complete += members[i].messages == rounds;
    qsort(samples, samples_count, sizeof *samples, compare);
    uint32_t p50 = samples_count ? samples[samples_count / 2] : 0;
    uint32_t p99 = samples_count ? samples[samples_count - 1 - samples_count / 100] : 0;
    (void)printf("messages %llu, sockets that got all %zu, p50 %.1f ms, p99 %.1f ms\n",
                 (unsigned long long)came, complete, p50 / 1000.0, p99 / 1000.0);
    free(members);
    free(samples);
    return complete == count ? 0 : 1;
}
