// SPDX-License-Identifier: MIT
//
// Listening sockets that are there already: given by the caller, or by whoever started the process.

#include "server/inherit.h"

#include "base/contract.h"
#include "io/socket_why.h"
#include "server/listening.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    INHERIT_FD_FIRST = 3, // sd_listen_fds(3)
    INHERIT_BACKLOG = 4096
};

// ---- Opening ----

static skua_status inherit_open(const char *address, int backlog, bool shared, int *fd,
                                char why[SOCKET_WHY_OCTETS])
{
    socket_address at;
    skua_status status = socket_address_read(slice_of(address), &at);
    if (status) {
        socket_address_why(slice_of(address), why);
        return status;
    }
    status = socket_listen(&at, backlog, shared && !at.is_unix, fd);
    if (status) socket_why(&at, status, why);
    return status;
}

__attribute__((cold)) skua_status skua_socket_open(const char *address, unsigned backlog,
                                                   bool shared, int *fd, char *why, size_t why_room)
{
    CONTRACT_GIVEN(address);
    CONTRACT_GIVEN(fd);
    CONTRACT(why || !why_room, "why_room is given, but why is NULL");
    char sentence[SOCKET_WHY_OCTETS] = "";
    if (!backlog || backlog > INT32_MAX) backlog = INHERIT_BACKLOG;
    skua_status status = inherit_open(address, (int)backlog, shared, fd, sentence);
    if (status && why_room) (void)snprintf(why, why_room, "%s", sentence);
    return status;
}

// ---- Adopting ----

void server_close_given(skua_server *server)
{
    for (unsigned i = 0; i < server->listener_count; i++) {
        server_listener *listener = &server->listeners[i];
        if (listener->is_given && listener->given >= 0) (void)close(listener->given);
        if (listener->is_given) listener->given = -1;
    }
}

__attribute__((cold)) skua_status skua_listen_fd(skua_server *server, int fd)
{
    CONTRACT_SERVER(server);
    server_listener *listener;
    const skua_listener_desc desc = { .fd = fd };
    skua_status status = server_expect_rest(server);
    if (!status) status = listening_describe(server, &desc, &listener);
    if (!status) server_listener_add(server, listener);
    return status;
}

// A decimal number up to most; false for anything else, and for none.
static bool inherit_number(const char *name, uint64_t most, uint64_t *number)
{
    const char *text = getenv(name);
    if (!text || !*text) return false;
    uint64_t n = 0;
    for (; *text; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || n > (most - digit) / 10) return false;
        n = n * 10 + digit;
    }
    *number = n;
    return true;
}

static void inherit_forget(void)
{
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
}

static skua_status inherit_all(skua_server *server, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        skua_status status = skua_listen_fd(server, INHERIT_FD_FIRST + (int)i);
        if (status) return status;
    }
    return SKUA_OK;
}

__attribute__((cold)) skua_status skua_listen_inherited(skua_server *server, unsigned *count)
{
    CONTRACT_SERVER(server);
    if (count) *count = 0;
    if (!getenv("LISTEN_PID") || !getenv("LISTEN_FDS")) return SKUA_OK;
    uint64_t pid, fds;
    if (!inherit_number("LISTEN_PID", INT32_MAX, &pid) ||
        !inherit_number("LISTEN_FDS", INT32_MAX - 3, &fds)) {
        return server_fail(server, SKUA_EINVAL,
                           "LISTEN_PID or LISTEN_FDS in the environment is not a number");
    }
    if (pid != (uint64_t)getpid()) return SKUA_OK; // meant for our parent
    skua_status status = inherit_all(server, (unsigned)fds);
    if (status) return status;
    inherit_forget();
    if (count) *count = (unsigned)fds;
    return SKUA_OK;
}
