// SPDX-License-Identifier: MIT

#include "super/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __linux__

typedef union control_room {
    struct cmsghdr aligned;
    char octets[CMSG_SPACE(CONTROL_FDS_MAX * sizeof(int))];
} control_room;

bool control_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

static void control_attach(struct msghdr *message, control_room *room, const int *fds,
                           unsigned count)
{
    memset(room, 0, sizeof *room);
    message->msg_control = room->octets;
    message->msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
}

bool control_send(int fd, const int *fds, unsigned count, const char *format, ...)
{
    char text[CONTROL_OCTETS_MAX];
    control_room room;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (fd < 0 || len < 0 || count > CONTROL_FDS_MAX) return false;
    struct iovec part = { text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (count) control_attach(&message, &room, fds, count);
    return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

// All descriptors of a message are in one header, and nothing else was asked of the kernel that has one.
static void control_take_fds(control_message *m, struct msghdr *message)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) return;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count && m->fd_count < CONTROL_FDS_MAX; i++)
        memcpy(&m->fds[m->fd_count++], CMSG_DATA(head) + i * sizeof(int), sizeof(int));
}

control_got control_receive(int fd, bool waits, control_message *m)
{
    control_room room;
    struct iovec part = { m->text, sizeof m->text - 1 };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = room.octets,
                              .msg_controllen = sizeof room.octets };
    ssize_t n;
    m->fd_count = 0;
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    while (n < 0 && errno == EINTR);
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? CONTROL_NOTHING : CONTROL_GONE;
    control_take_fds(m, &message);
    m->text[n] = '\0';
    return n ? CONTROL_MESSAGE : CONTROL_GONE;
}

#endif

void control_close(control_message *m)
{
    for (unsigned i = 0; i < m->fd_count; i++) {
        if (m->fds[i] >= 0) (void)close(m->fds[i]);
    }
    m->fd_count = 0;
}

int control_take(control_message *m, unsigned at)
{
    if (at >= m->fd_count) return -1;
    int fd = m->fds[at];
    m->fds[at] = -1;
    return fd;
}

bool control_is(const control_message *m, const char *name, const char **rest)
{
    size_t len = strlen(name);
    if (strncmp(m->text, name, len) != 0 || (m->text[len] && m->text[len] != ' ')) return false;
    if (rest) *rest = m->text + len + (m->text[len] == ' ');
    return true;
}
