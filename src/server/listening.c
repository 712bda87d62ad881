// SPDX-License-Identifier: MIT
//
// Listening. A listener that goes is emptied first: nobody begins to connect any more, those who have begun are
// given a moment, and what waits in the queue is accepted before the socket is closed. A client that the kernel has
// greeted already would be reset otherwise.

#include "server/listening.h"

#include "base/contract.h"
#include "base/sized.h"
#include "base/memory.h"
#include "io/socket_why.h"
#include "server/change.h"
#include "server/stop.h"
#include "server/worker_run.h"

#include <unistd.h>

// For handshakes that have begun, and for the first octets of those who have ended theirs: a kernel may keep a
// connection to itself until they come, for a second (TCP_DEFER_ACCEPT).
static const int64_t listening_settle_ns = 1500000000;

// ---- Describing ----

// A descriptor would be closed twice.
static bool listening_has(const skua_server *server, int fd)
{
    for (unsigned i = 0; i < server->listener_count; i++) {
        const server_listener *l = &server->listeners[i];
        if (!l->is_gone && l->is_given && l->given == fd) return true;
    }
    return false;
}

static skua_status listening_adopt(skua_server *server, server_listener *listener, int fd)
{
    if (listening_has(server, fd))
        return server_fail(server, SKUA_EINVAL, "descriptor %d is listened on already", fd);
    skua_status status = socket_adopt(fd, &listener->address);
    if (status)
        return server_fail(server, status, "descriptor %d is not a listening stream socket", fd);
    listener->is_given = true;
    listener->given = fd;
    return SKUA_OK;
}

static skua_status listening_read(skua_server *server, server_listener *listener,
                                  const char *address)
{
    skua_status status = socket_address_read(slice_of(address), &listener->address);
    if (!status) return SKUA_OK;
    char why[SOCKET_WHY_OCTETS];
    socket_address_why(slice_of(address), why);
    return server_fail(server, status, "%s", why);
}

__attribute__((cold)) skua_status listening_forward(skua_server *server, server_listener *listener,
                                                    skua_forwarded forwarded)
{
    if ((unsigned)forwarded > SKUA_FORWARDED_PROXY)
        return server_fail(server, SKUA_EINVAL, "%u is no skua_forwarded", (unsigned)forwarded);
    if (forwarded && !server->trusted.count && !server->trusted.has_unix)
        return server_fail(server, SKUA_EINVAL,
                           "proxies have a say where skua_config.trusted names them");
    listener->forwarded = forwarded;
    return SKUA_OK;
}

__attribute__((cold)) skua_status listening_describe(skua_server *server,
                                                     const skua_listener_desc *desc,
                                                     server_listener **made)
{
    skua_status status;
    server_listener *listener = server_listener_next(server, &status);
    if (!listener) return status;
    if (desc->tls && !server->secure)
        return server_fail(server, SKUA_EINVAL, "TLS needs a certificate in skua_config.tls");
    if (desc->forwarded) status = listening_forward(server, listener, desc->forwarded);
    if (status) return status;
    status = desc->address ? listening_read(server, listener, desc->address)
                           : listening_adopt(server, listener, desc->fd);
    if (status) return status;
    listener->secure = desc->tls;
    socket_address_write(&listener->address, listener->text);
    *made = listener;
    return SKUA_OK;
}

// ---- Before the start ----

__attribute__((cold)) skua_status skua_listen(skua_server *server, const char *address)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(address);
    skua_status status = server_expect_rest(server);
    server_listener *listener;
    const skua_listener_desc desc = { .address = address };
    if (!status) status = listening_describe(server, &desc, &listener);
    if (!status) server_listener_add(server, listener);
    return status;
}

__attribute__((cold)) skua_status skua_listen_over_tls(skua_server *server, size_t index)
{
    CONTRACT_SERVER(server);
    if (server_expect_rest(server)) return SKUA_ESTATE;
    if (index >= server->listener_count)
        return server_fail(server, SKUA_EINVAL, "there is no address number %zu", index);
    if (!server->secure)
        return server_fail(server, SKUA_EINVAL, "TLS needs a certificate in skua_config.tls");
    server->listeners[index].secure = true;
    return SKUA_OK;
}

__attribute__((cold)) skua_status skua_listen_forwarded(skua_server *server, size_t index,
                                                        skua_forwarded forwarded)
{
    CONTRACT_SERVER(server);
    if (server_expect_rest(server)) return SKUA_ESTATE;
    if (index >= server->listener_count)
        return server_fail(server, SKUA_EINVAL, "there is no address number %zu", index);
    return listening_forward(server, &server->listeners[index], forwarded);
}

// ---- Hosts ----

// A page in a browser reaches TCP addresses alone, so a Unix socket beside one neither opens nor closes it.
host_kind listening_host_kind(const skua_server *server)
{
    host_kind kind = HOSTS_ANY;
    for (unsigned i = 0; i < server->listener_count; i++) {
        const socket_address *address = &server->listeners[i].address;
        if (server->listeners[i].is_gone || address->is_unix) continue;
        if (!address->is_loopback) return HOSTS_ANY;
        kind = HOSTS_LOOPBACK;
    }
    return kind;
}

// Where TLS is spoken, each connection has a say.
host_rule listening_hosts(const skua_server *server, host_kind otherwise)
{
    host_rule rule = hosts_of(server->hosts_text, otherwise);
    if (server->secure && rule.kind == HOSTS_ANY) rule.kind = HOSTS_ANY_BY_TRANSPORT;
    return rule;
}

// It is not narrowed again: connections of a listener that goes are served on.
static void listening_widen(skua_server *server)
{
    host_rule rule = listening_hosts(server, listening_host_kind(server));
    if (server->hosts_now->kind != HOSTS_LOOPBACK || rule.kind == HOSTS_LOOPBACK) return;
    server->hosts_wide = rule;
    server->hosts_now = &server->hosts_wide;
}

// ---- Opening ----

static skua_status listening_say_why(skua_server *server, const server_listener *listener,
                                     skua_status status)
{
    char why[SOCKET_WHY_OCTETS];
    socket_why(&listener->address, status, why);
    return server_fail(server, status, "%s", why);
}

// A Unix socket is opened once, one that was given is there already; TCP is opened once for each worker, so that the
// kernel spreads connections, unless worker 0 accepts for all.
skua_status listening_open(skua_server *server, unsigned number, unsigned worker, int *fd)
{
    server_listener *listener = &server->listeners[number];
    bool shared = !listener->is_one;
    if (listener->is_given && listener->given < 0) {
        return server_fail(server, SKUA_ESTATE, "the socket given for %s has been closed",
                           listener->text);
    }
    if (listener->is_given) server->shared_fds[number] = listener->given;
    *fd = server->shared_fds[number];
    if (*fd >= 0) return SKUA_OK;
    if (worker == 0 && shared && socket_in_use(&listener->address))
        return listening_say_why(server, listener, SKUA_EADDRINUSE);
    skua_status status = socket_listen(&listener->address, (int)server->config.backlog, shared, fd);
    if (status) return listening_say_why(server, listener, status);
    if (listener->address.is_unix) server->shared_fds[number] = *fd;
    socket_address_write(&listener->address, listener->text);
    return SKUA_OK;
}

// A socket that there is only one of would wake every worker for each connection, or the same one for all.
void listening_accept(server_worker *w, unsigned number, int fd)
{
    const skua_server *server = w->self.server;
    const server_listener *listener = &server->listeners[number];
    arrival like = { .peer.facts = (uint8_t)listener->forwarded, .secure = listener->secure };
    if (fd != server->shared_fds[number]) w->listen_fds[number] = fd;
    worker_listen(w, number, fd, &like);
}

// ---- Adding ----

static void listening_follow(server_worker *w)
{
    skua_server *server = w->self.server;
    int *fd = &server->change.fds[w->self.index];
    w->self.hosts = server->hosts_now;
    if (*fd >= 0 && !w->is_deaf) {
        listening_accept(w, server->change.listener, *fd);
        *fd = -1;
    }
    change_followed(w);
}

// Workers that are about to end have not taken theirs.
static void listening_close_left(skua_server *server, const server_listener *listener)
{
    for (unsigned i = 0; i < server_worker_count(server); i++) {
        if (server->change.fds[i] >= 0) socket_close(&listener->address, server->change.fds[i]);
    }
}

static skua_status listening_open_all(skua_server *server, unsigned number)
{
    unsigned count = server->listeners[number].is_one ? 1 : server_worker_count(server);
    skua_status status = SKUA_OK;
    for (unsigned i = 0; i < count && !status; i++)
        status = listening_open(server, number, i, &server->change.fds[i]);
    return status;
}

// One that was given stays the caller's when this fails.
static skua_status listening_begin(skua_server *server, server_listener *listener)
{
    unsigned number = (unsigned)(listener - server->listeners);
    server->change.listener = number;
    listener->is_one = listener->is_given || listener->address.is_unix || server->hands_off ||
                       server_worker_count(server) == 1;
    skua_status status = listening_open_all(server, number);
    if (!status) {
        server_listener_add(server, listener);
        listening_widen(server);
        if (!change_tell(server, listening_follow)) status = SKUA_ECLOSED;
    }
    if (!status) {
        listening_close_left(server, listener);
        return SKUA_OK;
    }
    if (!listener->is_given) listening_close_left(server, listener);
    server->shared_fds[number] = -1;
    listener->is_gone = true;
    return status;
}

static skua_status listening_add_running(skua_server *server, server_listener *listener)
{
    unsigned workers = server_worker_count(server);
    if (server_is_to_stop(server))
        return server_fail(server, SKUA_ECLOSED, "the server is about to stop");
    server->change.fds = memory_array(workers, sizeof(int));
    if (!server->change.fds) return SKUA_ENOMEM;
    for (unsigned i = 0; i < workers; i++)
        server->change.fds[i] = -1;
    skua_status status = listening_begin(server, listener);
    memory_free(server->change.fds);
    server->change.fds = NULL;
    return status;
}

static skua_status listening_add(skua_server *server, const skua_listener_desc *desc, bool runs,
                                 size_t *index)
{
    server_listener *listener;
    if (!runs && server->started)
        return server_fail(server, SKUA_ESTATE, "the server is not running any more");
    skua_status status = listening_describe(server, desc, &listener);
    if (status) return status;
    if (runs) status = listening_add_running(server, listener);
    else server_listener_add(server, listener);
    if (!status && index) *index = (size_t)(listener - server->listeners);
    return status;
}

__attribute__((cold)) skua_status skua_listener_add_sized(skua_server *server,
                                                          const skua_listener_desc *desc,
                                                          size_t *index, const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_listener_desc own;
    desc = SIZED_GIVEN(desc, sizes->listener_desc, &own);
    bool runs = change_begin(server, __func__);
    skua_status status = listening_add(server, desc, runs, index);
    change_end(server);
    return status;
}

// ---- Removing ----

// Closes what the workers share. A worker that has a listening socket of its own has closed that one already.
static void listening_close(skua_server *server, unsigned number)
{
    server_listener *listener = &server->listeners[number];
    int fd = server->shared_fds[number];
    if (listener->is_given && listener->given >= 0) (void)close(listener->given);
    else if (fd >= 0) socket_close(&listener->address, fd);
    listener->given = server->shared_fds[number] = -1;
    listener->text[0] = '\0';
    listener->is_gone = true;
}

__attribute__((cold)) static void listening_close_going(skua_server *server)
{
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        if (server->change.going >> i & 1) listening_close(server, i);
    }
}

// The time that it still accepts for is over.
__attribute__((cold)) static void listening_settled(server_worker *w)
{
    skua_server *server = w->self.server;
    io_deadline_unset(&w->settling);
    w->settles = false;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        if (server->change.going >> i & 1) worker_unlisten(w, i);
    }
    change_followed(w);
    if (server->foreign_open) listening_close_going(server);
}

// A socket that was given may be another process's, too, which goes on. Who connects to a Unix socket is in its queue
// at once.
// Returns: whether somebody may have begun to connect who is not in the queue yet.
static bool listening_turn_away(server_worker *w, unsigned number)
{
    const server_listener *listener = &w->self.server->listeners[number];
    if (!w->listeners[number].active || listener->address.is_unix) return false;
    if (!listener->is_given) socket_turn_away(w->listeners[number].fd);
    return true;
}

static void listening_unfollow(server_worker *w)
{
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        bool goes = w->self.server->change.going >> i & 1;
        w->settles = (goes && listening_turn_away(w, i)) || w->settles;
    }
    if (w->settles) io_deadline_set(&w->self.loop.timers, &w->settling, listening_settle_ns);
    else listening_settled(w);
}

static skua_status listening_remove_running(skua_server *server, uint32_t going)
{
    if (server->foreign_open && server->change.shared.left)
        return server_fail(server, SKUA_ESTATE, "another listener is being removed");
    server->change.going = going;
    server->change.settled = listening_settled;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        const server_listener *listener = &server->listeners[i];
        if ((going >> i & 1) && !listener->is_given) socket_retract(&listener->address);
    }
    (void)change_tell(server, listening_unfollow);
    if (!server->foreign_open) listening_close_going(server);
    return SKUA_OK;
}

// The error is recorded for one that is not there.
static skua_status listening_find(skua_server *server, const size_t *indices, size_t count,
                                  uint32_t *going)
{
    for (size_t i = 0; i < count; i++) {
        if (indices[i] >= server->listener_count || server->listeners[indices[i]].is_gone)
            return server_fail(server, SKUA_ENOENT, "there is no address number %zu", indices[i]);
        *going |= UINT32_C(1) << indices[i];
    }
    return SKUA_OK;
}

static skua_status listening_remove(skua_server *server, const size_t *indices, size_t count,
                                    bool runs)
{
    uint32_t going = 0;
    if (!runs && server->started)
        return server_fail(server, SKUA_ESTATE, "the server is not running any more");
    skua_status status = listening_find(server, indices, count, &going);
    if (status || !going) return status;
    if (runs) return listening_remove_running(server, going);
    server->change.going = going;
    listening_close_going(server);
    return SKUA_OK;
}

__attribute__((cold)) static skua_status
listening_remove_by(skua_server *server, const size_t *indices, size_t count, const char *function)
{
    bool runs = change_begin(server, function);
    skua_status status = listening_remove(server, indices, count, runs);
    change_end(server);
    return status;
}

__attribute__((cold)) skua_status skua_listener_remove(skua_server *server, size_t index)
{
    CONTRACT_SERVER(server);
    return listening_remove_by(server, &index, 1, __func__);
}

__attribute__((cold)) skua_status skua_listeners_remove(skua_server *server, const size_t *indices,
                                                        size_t count)
{
    CONTRACT_SERVER(server);
    if (count) CONTRACT_GIVEN(indices);
    return listening_remove_by(server, indices, count, __func__);
}
