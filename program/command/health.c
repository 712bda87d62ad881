// SPDX-License-Identifier: MIT
//
// Health. One request, and the status code of its response.

#include "command/health.h"

#include "common/address.h"
#include "common/say.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { HEALTH_SECONDS = 5 };

static const char health_request[] =
    "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static int health_connect(int family, const struct sockaddr *at, socklen_t len)
{
    const struct timeval patience = { .tv_sec = HEALTH_SECONDS };
    int fd = socket(family, SOCK_STREAM, 0); // this process starts no other
    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, at, len) == 0) return fd;
    (void)close(fd);
    return -1;
}

static int health_connect_path(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof at.sun_path) return -1;
    memcpy(at.sun_path, path, strlen(path) + 1);
    return health_connect(AF_UNIX, (struct sockaddr *)&at, sizeof at);
}

// Brackets of IPv6 are not for getaddrinfo. Without a host, this machine is meant.
static int health_connect_name(const char *address)
{
    char whole[ADDRESS_OCTETS], *host = whole, *colon;
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    if (!address_complete(address, ADDRESS_PORT, whole))
        (void)snprintf(whole, sizeof whole, "%s", address);
    if (!(colon = strrchr(whole, ':'))) return -1;
    *colon = '\0';
    if (*host == '[' && colon > host + 1) {
        host++;
        colon[-1] = '\0';
    }
    bool is_this_machine = !*host || strcmp(host, "*") == 0;
    if (getaddrinfo(is_this_machine ? "127.0.0.1" : host, colon + 1, &hints, &found) != 0)
        return -1;
    int fd = health_connect(found->ai_family, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}

// The first line of the response, in line.
static bool health_read_line(int fd, char *line, size_t room)
{
    size_t len = 0;
    while (len + 1 < room && !memchr(line, '\n', len)) {
        ssize_t got = recv(fd, line + len, room - 1 - len, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        len += (size_t)got;
    }
    line[len] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

static bool health_ask_at(int fd, const char *address)
{
    char line[128] = "";
    size_t len = sizeof health_request - 1;
    if (send(fd, health_request, len, MSG_NOSIGNAL) != (ssize_t)len ||
        !health_read_line(fd, line, sizeof line)) {
        say_error("%s does not answer", address);
        return false;
    }
    if (strncmp(line, "HTTP/1.1 200", 12) == 0) return true;
    say_error("%s answers \"%s\"", address, line);
    return false;
}

bool health_ask(const char *address)
{
    bool is_path = strncmp(address, "unix:", 5) == 0;
    int fd = is_path ? health_connect_path(address + 5) : health_connect_name(address);
    if (fd < 0) {
        say_error("%s cannot be reached", address);
        return false;
    }
    bool is_well = health_ask_at(fd, address);
    (void)close(fd);
    return is_well;
}
