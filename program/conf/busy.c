// SPDX-License-Identifier: MIT
//
// A socket is bound, and closed before it listens: so no client ever reaches it.

#include "conf/busy.h"

#include "common/address.h"

#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool busy_is_taken(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM, 0), on = 1;
    if (fd < 0) return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // what has ended may linger
    bool is_taken = bind(fd, at->ai_addr, at->ai_addrlen) != 0 && errno == EADDRINUSE;
    (void)close(fd);
    return is_taken;
}

// address: has been looked at by the check, so that it has a port unless it is a socket of another kind.
static bool busy_is(const char *address)
{
    const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                                    .ai_socktype = SOCK_STREAM };
    char host[ADDRESS_OCTETS];
    struct addrinfo *found = NULL;
    const char *colon = strrchr(address, ':');
    size_t len = colon ? (size_t)(colon - address) : 0;
    if (!address_port(address) || len >= sizeof host) return false;
    bool has_brackets = len > 2 && address[0] == '[';
    memcpy(host, address + has_brackets, len - 2 * (size_t)has_brackets);
    host[len - 2 * (size_t)has_brackets] = '\0';
    bool is_every = !host[0] || strcmp(host, "*") == 0;
    if (getaddrinfo(is_every ? NULL : host, colon + 1, &hints, &found) != 0) return false;
    bool is_taken = false;
    for (const struct addrinfo *at = found; at && !is_taken; at = at->ai_next)
        is_taken = busy_is_taken(at);
    freeaddrinfo(found);
    return is_taken;
}

static void busy_look(conf *c, const char *address, conf_place at)
{
    if (busy_is(address))
        conf_find(&c->notes, at,
                  "%s is in use, by another program or by the server that is to read this",
                  address);
}

void conf_busy_look(conf *c)
{
    for (unsigned i = 0; i < c->listen_count; i++)
        busy_look(c, c->listens[i].address, c->listens[i].at);
    if (c->status) busy_look(c, c->status, c->status_at);
}
