// SPDX-License-Identifier: MIT
//
// The ceiling of WebSockets on epoll.
#include "socket_ceiling.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 512 };

typedef struct conn {
    size_t have;      // octets of a frame
    const char *owed; // of the answer
    size_t owed_octets;
    char input[SOCKET_INPUT_OCTETS];
} conn;

static conn *conns[SOCKET_CONNS_MAX]; // by descriptor
static int listener, epoll, last;     // last: the highest descriptor
static bool publishes;

static void end(int fd)
{
    close(fd);
    socket_end(fd);
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
        if (conns[fd] && send(fd, frame, octets, MSG_NOSIGNAL) != (ssize_t)octets)
            socket_die("send");
    }
}

static bool receive(int fd, conn *c)
{
    ssize_t n = recv(fd, c->input + c->have, SOCKET_INPUT_OCTETS - c->have, 0);
    if (n <= 0) return n < 0 && errno == EAGAIN;
    c->have += (size_t)n;
    socket_answer answer = socket_answer_to(fd, c->input, c->have);
    if (!answer.octets) return true;
    c->have = 0;
    c->owed = answer.octets;
    c->owed_octets = answer.len;
    if (!publishes || !answer.is_message) return !c->owed_octets || send_owed(fd, c);
    publish(c->owed, c->owed_octets);
    c->owed_octets = 0;
    return true;
}

static void watch(int fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) socket_die("epoll_ctl");
}

static void accept_one(void)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (fd >= SOCKET_CONNS_MAX || !(conns[fd] = calloc(1, sizeof *conns[fd])))
        socket_die("a connection");
    if (fd > last) last = fd;
    socket_begin(fd);
    watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
}

static void on_event(int fd, uint32_t events)
{
    conn *c = conns[fd];
    bool alive = !c->owed_octets || send_owed(fd, c);
    if (alive && !c->owed_octets && events & ~(uint32_t)EPOLLOUT) alive = receive(fd, c);
    if (!alive || events & (EPOLLRDHUP | EPOLLHUP)) end(fd);
}

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_MAX];
    if (argc < 2) return 2;
    publishes = argc > 2 && strcmp(argv[2], "--publish") == 0;
    socket_prepare(argc, argv);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) socket_die("epoll_create1");
    listener = socket_listen((int)strtol(argv[1], NULL, 10));
    watch(listener, EPOLLIN);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener) accept_one();
            else on_event(events[i].data.fd, events[i].events);
        }
    }
}
