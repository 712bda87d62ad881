// SPDX-License-Identifier: MIT
//
// EVFILT_READ and EVFILT_WRITE of sockets, pipes and queues. Each has an epoll instance of its own:
// were they one, an edge of one filter would tell the state of the other again, and hide that a
// program missed it.
// Linux forgets a descriptor in epoll when it is closed, as kqueue does; what is noted of it here
// is found stale when its number is registered anew.

#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>

enum { SIDE_BATCH = 64 };

static bool side_has_room(shim_side *side, size_t fd)
{
    if (fd < side->room) return true;
    size_t room = fd * 2 + 64;
    shim_note *notes = realloc(side->notes, room * sizeof *notes);
    if (!notes) return false;
    memset(notes + side->room, 0, (room - side->room) * sizeof *notes);
    side->notes = notes;
    side->room = room;
    return true;
}

static struct epoll_event side_event(shim_side_name name, const shim_note *note)
{
    uint32_t events = name == SHIM_READ ? EPOLLIN | EPOLLRDHUP : EPOLLOUT;
    if (note->flags & EV_CLEAR) events |= EPOLLET;
    return (struct epoll_event){ .events = events, .data.fd = (int)note->ident };
}

// Whether the descriptor that was registered is still the one of that number.
static bool side_is_alive(const shim_side *side, shim_side_name name, const shim_note *note)
{
    if (!note->used) return false;
    if (note->flags & EV_DISABLE) return fcntl((int)note->ident, F_GETFD) >= 0;
    struct epoll_event event = side_event(name, note);
    return epoll_ctl(side->epoll, EPOLL_CTL_MOD, (int)note->ident, &event) == 0;
}

// A disabled filter is not in epoll at all: that would tell of errors even if asked for nothing.
static int side_apply(const shim_side *side, shim_side_name name, const shim_note *note,
                      bool was_in)
{
    int fd = (int)note->ident;
    struct epoll_event event = side_event(name, note);
    bool is_in = !(note->flags & EV_DISABLE);
    if (!is_in && !was_in) return 0;
    int operation = !is_in ? EPOLL_CTL_DEL : was_in ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    return epoll_ctl(side->epoll, operation, fd, &event) == 0 ? 0 : errno;
}

static int side_delete(const shim_side *side, shim_note *note, bool was_in)
{
    int fd = (int)note->ident;
    memset(note, 0, sizeof *note);
    if (was_in) (void)epoll_ctl(side->epoll, EPOLL_CTL_DEL, fd, NULL);
    return 0;
}

// "Any re-evaluation of an existing event": adding or enabling again tells again of what is ready.
int shim_fd_change(shim_queue *queue, shim_side_name name, const struct kevent *change)
{
    shim_side *side = &queue->sides[name];
    if (change->ident > INT16_MAX * 64 || fcntl((int)change->ident, F_GETFD) < 0) return EBADF;
    if (!side_has_room(side, change->ident)) return ENOMEM;
    shim_note *note = &side->notes[change->ident];
    if (!side_is_alive(side, name, note)) memset(note, 0, sizeof *note);
    if (!note->used && !(change->flags & EV_ADD)) return ENOENT;
    bool was_in = note->used && !(note->flags & EV_DISABLE);
    if (change->flags & EV_DELETE) return side_delete(side, note, was_in);
    note->used = true;
    shim_note_set(note, change);
    int error = side_apply(side, name, note, was_in);
    if (error) memset(note, 0, sizeof *note);
    return error;
}

// ---- Data ----

static int tcp_state(int fd, struct tcp_info *info)
{
    socklen_t len = sizeof *info;
    memset(info, 0, sizeof *info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len) == 0 ? info->tcpi_state : -1;
}

// READ, data: octets to be read; of a listening socket, how many connections wait.
static int64_t side_data_read(int fd)
{
    struct tcp_info info;
    int waiting = 0, listens = 0;
    socklen_t len = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens) {
        return tcp_state(fd, &info) >= 0 ? (int64_t)info.tcpi_unacked : 1;
    }
    return ioctl(fd, FIONREAD, &waiting) == 0 ? waiting : 1;
}

// WRITE, data: the room in the socket's buffer.
static int64_t side_data_write(int fd)
{
    int room = 0, used = 0;
    socklen_t len = sizeof room;
    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &len) != 0) return 1;
    if (ioctl(fd, SIOCOUTQ, &used) != 0 || used > room) return 0;
    return room - used;
}

// Whether this side has sent its FIN: sending any more is impossible.
static bool side_has_shut(int fd)
{
    struct tcp_info info;
    switch (tcp_state(fd, &info)) {
    case TCP_FIN_WAIT1:
    case TCP_FIN_WAIT2:
    case TCP_CLOSING:
    case TCP_LAST_ACK:
    case TCP_TIME_WAIT:
    case TCP_CLOSE: return true;
    default: return false;
    }
}

// EV_EOF: no more can come, or go; fflags: the socket's error, which is not taken from the socket
// by that.
// Linux tells of an error, but to ask which would take it: a connection's is a reset, as good as
// always.
static void side_describe(struct kevent *event, shim_side_name name, uint32_t ready)
{
    int fd = (int)event->ident;
    bool ends = name == SHIM_READ ? ready & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)
                                  : (ready & (EPOLLHUP | EPOLLERR)) || side_has_shut(fd);
    event->data = name == SHIM_READ ? side_data_read(fd) : side_data_write(fd);
    if (ends) event->flags |= EV_EOF;
    if (ready & EPOLLERR) event->fflags = ECONNRESET;
}

static void side_told(const shim_side *side, shim_note *note)
{
    if (!(note->flags & (EV_ONESHOT | EV_DISPATCH))) return;
    (void)epoll_ctl(side->epoll, EPOLL_CTL_DEL, (int)note->ident, NULL);
    if (note->flags & EV_ONESHOT) memset(note, 0, sizeof *note);
    else note->flags |= EV_DISABLE;
}

int shim_fd_collect(shim_queue *queue, shim_side_name name, struct kevent *events, int room)
{
    const shim_side *side = &queue->sides[name];
    struct epoll_event ready[SIDE_BATCH];
    if (room <= 0) return 0;
    int n = epoll_wait(side->epoll, ready, room < SIDE_BATCH ? room : SIDE_BATCH, 0);
    for (int i = 0; i < n; i++) {
        shim_note *note = &side->notes[ready[i].data.fd];
        events[i] = shim_note_event(note, name == SHIM_READ ? EVFILT_READ : EVFILT_WRITE);
        side_describe(&events[i], name, ready[i].events);
        side_told(side, note);
    }
    return n < 0 ? 0 : n;
}
