// SPDX-License-Identifier: MIT
//
// Foreign loops: the caller waits for skua_fd and skua_timeout_ns together with what else it waits
// for, and turns the server's one worker when either says so.

#include "server/foreign.h"

#include "base/assert.h"
#include "server/server.h"

#include <signal.h>

skua_status skua_open(skua_server *server)
{
    skua_status status = server_prepare(server, (server_need){ .workers = 1 });
    if (status) return status;
    server->foreign = (foreign){ .open = true, .thread = pthread_self() };
    worker_begin(server->workers[0]);
    io_flush(&server->workers[0]->self.loop);
    if (server_is_to_stop(server)) server_wake(server); // the caller may wait before it turns
    return SKUA_OK;
}

static server_worker *foreign_worker(const skua_server *server)
{
    SKUA_ASSERT(pthread_equal(server->foreign.thread, pthread_self()));
    return server->workers[0];
}

int skua_fd(const skua_server *server)
{
    if (!server->foreign.open) return -1;
    const io_loop *loop = &foreign_worker(server)->self.loop;
    return loop->backend->fd(loop);
}

int64_t skua_timeout_ns(const skua_server *server)
{
    if (!server->foreign.open) return -1;
    server_worker *w = foreign_worker(server);
    io_refresh(&w->self.loop);
    return worker_timeout_ns(w);
}

// ---- SIGPIPE ----

// sendfile has no MSG_NOSIGNAL: it raises SIGPIPE in this thread when the peer has reset. The
// caller's thread must neither die of that nor find it pending afterwards, and its handlers stay as
// they are.
typedef struct pipe_guard {
    sigset_t pipe;
    bool was_blocked;
    bool was_pending;
} pipe_guard;

static bool pipe_is_pending(void)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

static void pipe_guard_begin(pipe_guard *guard)
{
    sigset_t before;
    sigemptyset(&before);
    sigemptyset(&guard->pipe);
    sigaddset(&guard->pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &guard->pipe, &before);
    guard->was_blocked = sigismember(&before, SIGPIPE) == 1;
    guard->was_pending = guard->was_blocked && pipe_is_pending();
}

static void pipe_guard_end(const pipe_guard *guard)
{
    int number;
    if (!guard->was_pending && pipe_is_pending()) (void)sigwait(&guard->pipe, &number);
    if (!guard->was_blocked) pthread_sigmask(SIG_UNBLOCK, &guard->pipe, NULL);
}

// ---- The turn ----

// What turns did not start would wait for the next one, which may be long in coming.
static bool foreign_turn(server_worker *w, int64_t timeout_ns)
{
    io_refresh(&w->self.loop);
    if (!worker_turn(w, timeout_ns)) return false;
    (void)worker_goes_on(w); // a stop that came meanwhile has been heard of by nobody else
    io_flush(&w->self.loop);
    return worker_goes_on(w);
}

static bool foreign_guarded_turn(skua_server *server, server_worker *w, int64_t timeout_ns)
{
    SKUA_ASSERT(!server->foreign.turning);
    pipe_guard guard;
    pipe_guard_begin(&guard);
    server->foreign.turning = true;
    bool goes_on = foreign_turn(w, timeout_ns);
    server->foreign.turning = false;
    pipe_guard_end(&guard);
    return goes_on;
}

skua_status skua_turn(skua_server *server, int64_t timeout_ns)
{
    if (!server->foreign.open) return SKUA_ECLOSED;
    server_worker *w = foreign_worker(server);
    if (foreign_guarded_turn(server, w, timeout_ns)) return SKUA_OK;
    return server_end(server) ? SKUA_EIO : SKUA_ECLOSED;
}

void foreign_wait(skua_server *server)
{
    server_worker *w = foreign_worker(server);
    while (foreign_guarded_turn(server, w, -1)) {
    }
}
