// SPDX-License-Identifier: MIT
//
// Asker. It knows just enough HTTP to see where an answer of ours ends.

#include "command/asker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { ASKER_REQUEST_OCTETS = 160, ASKER_HEAD_OCTETS_MAX = 4096, ASKER_PIECE_OCTETS = 65536 };

static int asker_connect(unsigned port)
{
    const struct timeval patience = { .tv_sec = 2 };
    const int one = 1;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0) return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    (void)close(fd);
    return -1;
}

bool asker_open(asker *a, unsigned port)
{
    bool all = true;
    for (size_t i = 0; i < ASKER_CONNECTIONS; i++) {
        a->fds[i] = asker_connect(port);
        all = all && a->fds[i] >= 0;
    }
    return all;
}

// On a socket that has a timeout, what waits is interrupted where the process is stopped and goes on.
static ssize_t asker_receive(int fd, char *octets, size_t room)
{
    ssize_t n;
    do
        n = recv(fd, octets, room, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

// The octets of content that have come behind the head in text[0..len), or -1 while the head has
// not ended.
static ssize_t asker_content_octets(const char *text, size_t len)
{
    for (size_t i = 0; i + 4 <= len; i++) {
        if (memcmp(text + i, "\r\n\r\n", 4) == 0) return (ssize_t)(len - i - 4);
    }
    return -1;
}

// Reads a head and what came with it. Returns how much of the content that is, or -1.
static ssize_t asker_read_head(int fd)
{
    static const char good[] = "HTTP/1.1 200 OK\r\n";
    char text[ASKER_HEAD_OCTETS_MAX];
    size_t len = 0;
    ssize_t content = -1;
    while (content < 0) {
        ssize_t n = len < sizeof text ? asker_receive(fd, text + len, sizeof text - len) : -1;
        if (n <= 0) return -1;
        len += (size_t)n;
        content = asker_content_octets(text, len);
    }
    return memcmp(text, good, sizeof good - 1) == 0 ? content : -1;
}

static bool asker_read(int fd, size_t octets)
{
    static char piece[ASKER_PIECE_OCTETS];
    ssize_t came = asker_read_head(fd);
    if (came < 0 || (size_t)came > octets) return false;
    for (size_t left = octets - (size_t)came; left;) {
        ssize_t n = asker_receive(fd, piece, left < sizeof piece ? left : sizeof piece);
        if (n <= 0) return false;
        left -= (size_t)n;
    }
    return true;
}

bool asker_ask(asker *a, const char *path, size_t octets)
{
    char request[ASKER_REQUEST_OCTETS];
    int len = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    if (len < 0 || len >= (int)sizeof request) return false;
    for (size_t i = 0; i < ASKER_CONNECTIONS; i++) {
        if (send(a->fds[i], request, (size_t)len, 0) != len) return false;
    }
    for (size_t i = 0; i < ASKER_CONNECTIONS; i++) {
        if (!asker_read(a->fds[i], octets)) return false;
    }
    return true;
}

void asker_close(asker *a)
{
    for (size_t i = 0; i < ASKER_CONNECTIONS; i++) {
        if (a->fds[i] >= 0) (void)close(a->fds[i]);
    }
}
