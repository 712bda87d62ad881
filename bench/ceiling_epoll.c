// SPDX-License-Identifier: MIT
//
// The ceiling on epoll: edges, receiving by recv until it comes short, answering at once.
#include "ceiling.h"

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 512, ACCEPTS_MAX = 64 };

static int epoll;

static void epoll_watch(int fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data.fd = fd };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) ceiling_die("epoll_ctl");
}

static void conn_on_event(int fd, uint32_t events)
{
    ceiling_conn *c = &the.conns[fd];
    bool ending = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    bool alive = true;
    if (events & ~(uint32_t)EPOLLOUT) alive = ceiling_receive(fd, c, ending);
    if (alive && c->owed) alive = ceiling_send(fd, c);
    if (!alive) close(fd);
}

// Of a connection that was served here epoll never hears.
static void accept_one(int fd)
{
    ceiling_conn *c = ceiling_conn_new(fd);
    if (the.close_after && !ceiling_serve_accepted(fd, c)) {
        close(fd);
        return;
    }
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

int main(int argc, char **argv)
{
    struct epoll_event events[EVENTS_MAX];
    ceiling_open(argc, argv);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0) ceiling_die("epoll_create1");
    epoll_watch(the.listener, EPOLLIN);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == the.listener) accept_all();
            else conn_on_event(events[i].data.fd, events[i].events);
        }
    }
}
