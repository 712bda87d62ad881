// SPDX-License-Identifier: MIT
//
// The thread that has started a server: it alone waits for it, turns it and frees it, and not from
// a callback, where it would wait for itself.

#include "server/starter.h"

#include "base/contract.h"
#include "server/server.h"
#include "thread/here.h"

void server_is_started(skua_server *server)
{
    server->started = true;
    server->starter = thread_here();
}

static bool starter_is_worker(const skua_server *server)
{
    for (unsigned i = 0; i < server_worker_count(server); i++) {
        if (server->workers[i]->self.disk.thread == thread_here()) return true;
    }
    return false;
}

// Only what it calls while it is freed finds it so.
void server_expect_alive(const skua_server *server, const char *function)
{
    if (server->inside && !server->started)
        contract_broken(function, "called while the server is being freed");
}

void server_expect_outside(const skua_server *server, const char *function)
{
    bool here = server->starter == thread_here();
    if (here ? server->inside : starter_is_worker(server))
        contract_broken(function, "called in a handler or callback of the server; call skua_stop "
                                  "there, and this where skua_start was called");
}

// Workers without threads of their own are turned by the thread that has opened them.
static bool starter_may_not_wait(const skua_server *server)
{
    bool here = server->starter == thread_here();
    if (server->foreign_open) return !here || server->inside;
    return server->sim_kernel ? here && server->inside : starter_is_worker(server);
}

void server_expect_no_worker(const skua_server *server, const char *function)
{
    if (starter_may_not_wait(server))
        contract_broken(function, server->foreign_open
                                      ? "called on another thread than skua_open, or in a callback"
                                      : "called on a worker, which it waits for");
}

void server_expect_starter(const skua_server *server, const char *function)
{
    if (!server->started && !server->inside) return;
    server_expect_outside(server, function);
    if (server->starter != thread_here())
        contract_broken(function, "called on another thread than skua_start or skua_open; "
                                  "skua_stop may be called on any");
}
