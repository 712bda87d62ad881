// SPDX-License-Identifier: MIT
//
// Foreign loops: the caller waits for skua_fd and skua_timeout_ns together with what else it waits
// for, and turns the server's one worker when either says so.

#include "server/foreign.h"

#include "base/contract.h"
#include "server/change.h"
#include "server/server.h"
#include "server/starter.h"
#include "server/stop.h"
#include "server/worker_run.h"
#include "server/start.h"
#include "thread/pipe_guard.h"

skua_status skua_open(skua_server *server)
{
    CONTRACT_SERVER(server);
    server_expect_alive(server, __func__);
    skua_status status = server_prepare(server, (server_need){ .workers = 1, .is_turned = true });
    if (status) return status;
    server->foreign_open = true;
    change_allow(server);
    server->inside = true;
    worker_begin(server->workers[0]);
    server->inside = false;
    io_flush(&server->workers[0]->self.loop);
    if (server_is_to_stop(server)) server_wake(server); // the caller may wait before it turns
    return SKUA_OK;
}

static server_worker *foreign_worker(const skua_server *server, const char *function)
{
    if (server->starter != thread_here())
        contract_broken(function, "called on another thread than skua_open");
    return server->workers[0];
}

int skua_fd(const skua_server *server)
{
    CONTRACT_SERVER(server);
    if (!server->foreign_open) return -1;
    const io_loop *loop = &foreign_worker(server, __func__)->self.loop;
    return loop->backend->fd(loop);
}

int64_t skua_timeout_ns(const skua_server *server)
{
    CONTRACT_SERVER(server);
    if (!server->foreign_open) return -1;
    server_worker *w = foreign_worker(server, __func__);
    io_refresh(&w->self.loop);
    return worker_timeout_ns(w);
}

// ---- The turn ----

// Started here, or it would wait for the next turn, which may be long in coming.
static bool foreign_turn(server_worker *w, int64_t timeout_ns)
{
    io_refresh(&w->self.loop);
    if (!worker_turn(w, timeout_ns)) return false;
    (void)worker_goes_on(w); // a stop that came meanwhile has been heard of by nobody else
    io_flush(&w->self.loop);
    return worker_goes_on(w);
}

// The program and its bridges may raise SIGPIPE at the end of a worker as well.
static bool foreign_guarded_turn(server_worker *w, int64_t timeout_ns)
{
    pipe_guard guard;
    pipe_guard_begin(&guard);
    bool goes_on = foreign_turn(w, timeout_ns);
    if (!goes_on) worker_end(w);
    pipe_guard_end(&guard);
    return goes_on;
}

skua_status skua_turn(skua_server *server, int64_t timeout_ns)
{
    CONTRACT_SERVER(server);
    if (!server->foreign_open) return SKUA_ECLOSED;
    server_worker *w = foreign_worker(server, __func__);
    server_expect_outside(server, __func__);
    server->inside = true;
    skua_status status = SKUA_OK;
    if (!foreign_guarded_turn(w, timeout_ns)) status = server_end(server) ? SKUA_EIO : SKUA_ECLOSED;
    server->inside = false;
    return status;
}

// The program's callbacks run on this thread as on that of any worker. SIGPIPE must not reach them, as everywhere.
void foreign_run(server_worker *w)
{
    pipe_guard guard;
    pipe_guard_begin(&guard);
    if (w->self.server->has_run) worker_begin(w); // else the start has failed, and it only ends
    while (worker_turn(w, -1)) {
    }
    worker_end(w);
    pipe_guard_end(&guard);
}

void foreign_wait(skua_server *server)
{
    server_worker *w = server->workers[0];
    while (foreign_guarded_turn(w, -1)) {
    }
}
