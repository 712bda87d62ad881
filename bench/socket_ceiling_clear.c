// SPDX-License-Identifier: MIT
//
// Nothing stands between a ceiling of WebSockets and its messages.
#include "socket_ceiling.h"

static bool are_open[SOCKET_CONNS_MAX]; // by descriptor: the request has been answered

void socket_prepare(int argc, char **argv)
{
    (void)argc, (void)argv;
}

void socket_begin(int fd)
{
    are_open[fd] = false;
}

void socket_end(int fd)
{
    (void)fd;
}

socket_answer socket_answer_to(int fd, char *in, size_t have)
{
    if (are_open[fd]) return socket_echo(in, have);
    are_open[fd] = true;
    return (socket_answer){ socket_accepted, socket_accepted_octets, false };
}
