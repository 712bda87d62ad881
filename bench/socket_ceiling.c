// SPDX-License-Identifier: MIT
//
// The ceiling of WebSockets on epoll: it receives a message, unmasks it in place, and sends it from there, to the
// connection that it came from, or with --publish to all connections, one send for each. It takes every first
// octets of a connection for a request, and a client's word for everything else: there is one message under way
// on a connection, in one frame.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS_MAX = 8192, EVENTS_MAX = 512, INPUT_OCTETS = 65536 + 64, KEY_OCTETS = 4 };

typedef struct conn {
    bool is_open; // the request has been answered
    size_t have;  // octets of a frame
    char *owed;   // of the answer
    size_t owed_octets;
    char input[INPUT_OCTETS];
} conn;

static conn *conns[CONNS_MAX];    // by descriptor
static int listener, epoll, last; // last: the highest descriptor
static bool publishes;

// of the key that the bench's client sends
static const char accepted[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(1);
}

static void end(int fd)
{
    close(fd);
    free(conns[fd]);
    conns[fd] = NULL;
}

// Returns: false when the connection is over.
static bool send_owed(int fd, conn *c)
{
    ssize_t n = send(fd, c->owed, c->owed_octets, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    c->owed += n;
    c->owed_octets -= (size_t)n;
    return true;
}

static void publish(const char *frame, size_t octets)
{
    for (int fd = 0; fd <= last; fd++) {
        if (conns[fd] && send(fd, frame, octets, MSG_NOSIGNAL) != (ssize_t)octets) die("send");
    }
}

static void unmask(char *at, size_t len, const char *key)
{
    uint32_t half;
    memcpy(&half, key, sizeof half);
    const uint64_t keys = (uint64_t)half << 32 | half;
    size_t i = 0;
    for (; len - i >= sizeof keys; i += sizeof keys) {
        uint64_t word;
        memcpy(&word, at + i, sizeof word);
        word ^= keys;
        memcpy(at + i, &word, sizeof word);
    }
    for (; i < len; i++)
        at[i] ^= ((const char *)&keys)[i % sizeof keys];
}

// Where the payload begins and how long it is. Returns: 0 while the head is not whole.
static size_t read_head(const unsigned char *in, size_t have, size_t *payload)
{
    if (have < 2) return 0;
    unsigned first = in[1] & 127;
    size_t octets = first == 127 ? 8 : first == 126 ? 2 : 0;
    if (have < 2 + octets) return 0;
    *payload = octets ? 0 : first;
    for (size_t i = 0; i < octets; i++)
        *payload = *payload << 8 | in[2 + i];
    return 2 + octets + KEY_OCTETS;
}

// The answer's head has the same length octets as the frame's, and stands where they and the key stood.
static void answer(conn *c, size_t begin, size_t payload)
{
    char key[KEY_OCTETS];
    memcpy(key, c->input + begin - KEY_OCTETS, KEY_OCTETS);
    unmask(c->input + begin, payload, key);
    memmove(c->input + KEY_OCTETS, c->input, begin - KEY_OCTETS);
    c->input[KEY_OCTETS + 1] &= 127;
    c->owed = c->input + KEY_OCTETS;
    c->owed_octets = begin - KEY_OCTETS + payload;
    c->have = 0;
}

static bool receive(int fd, conn *c)
{
    ssize_t n = recv(fd, c->input + c->have, INPUT_OCTETS - c->have, 0);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    if (!c->is_open) {
        c->is_open = true;
        return send(fd, accepted, sizeof accepted - 1, MSG_NOSIGNAL) > 0;
    }
    size_t payload = 0;
    c->have += (size_t)n;
    size_t begin = read_head((const unsigned char *)c->input, c->have, &payload);
    if (payload > INPUT_OCTETS - 16) return false;
    if (!begin || c->have < begin + payload) return true;
    answer(c, begin, payload);
    if (!publishes) return send_owed(fd, c);
    publish(c->owed, c->owed_octets);
    c->owed_octets = 0;
    return true;
}

static void watch(int fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) die("epoll_ctl");
}

static void accept_one(void)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (fd >= CONNS_MAX || !(conns[fd] = calloc(1, sizeof *conns[fd]))) die("a connection");
    if (fd > last) last = fd;
    watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

static void on_event(int fd, uint32_t events)
{
    conn *c = conns[fd];
    bool alive = !c->owed_octets || send_owed(fd, c);
    if (alive && !c->owed_octets && events & ~(uint32_t)EPOLLOUT) alive = receive(fd, c);
    if (!alive || events & (EPOLLRDHUP | EPOLLHUP)) end(fd);
}

static void listen_at(int port)
{
    const int on = 1;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) die("socket");
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    (void)setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        die("listen");
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_MAX];
    if (argc < 2) return 2;
    publishes = argc > 2 && strcmp(argv[2], "--publish") == 0;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) die("epoll_create1");
    listen_at((int)strtol(argv[1], NULL, 10));
    watch(listener, EPOLLIN);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener) accept_one();
            else on_event(events[i].data.fd, events[i].events);
        }
    }
}
