// SPDX-License-Identifier: MIT
//
// Clients' ends of real sockets.

#include "support/socket.h"

#include "io/socket.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int socket_connect_to(const char *address)
{
    return socket_connect_small(address, 0);
}

// The buffer is set before the connection is made, or the window offered is large already.
int socket_connect_small(const char *address, int receive_octets)
{
    socket_address to;
    if (socket_address_read(slice_of(address), &to)) abort();
    const struct sockaddr *name = (const struct sockaddr *)(const void *)to.octets;
    int fd = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_octets)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_octets, sizeof receive_octets);
    if (fd < 0 || connect(fd, name, to.len) != 0) {
        perror(address);
        abort();
    }
    return fd;
}

bool socket_read_response(int fd, char *text, size_t room)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(fd, text + len, room - 1 - len, 0);
        if (n <= 0) return false;
        len += (size_t)n;
        text[len] = 0;
        const char *end = strstr(text, "\r\n\r\n"), *length = strstr(text, "\r\nContent-Length: ");
        if (!end || !length) continue;
        if (text + len - (end + 4) >= strtol(length + 18, NULL, 10)) return true;
    }
}

void socket_reset(int fd)
{
    struct linger at_once = { .l_onoff = 1 };
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    (void)close(fd);
}

void signal_default(int number)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigset_t set;
    (void)sigaction(number, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}
