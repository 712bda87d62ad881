// SPDX-License-Identifier: MIT
//
// Changes of a server that runs. A letter keeps its worker from ending (server_worker.posting), so that the wait ends
// whatever happens meanwhile.

#include "server/change.h"

#include "base/contract.h"
#include "server/starter.h"

__attribute__((cold)) void change_deinit(skua_server *server)
{
    (void)pthread_cond_destroy(&server->change.shared.changed);
    (void)pthread_mutex_destroy(&server->change.shared.lock);
    (void)pthread_mutex_destroy(&server->change.one);
}

static void change_set(skua_server *server, bool is_open)
{
    (void)pthread_mutex_lock(&server->change.one);
    server->change.is_open = is_open;
    (void)pthread_mutex_unlock(&server->change.one);
}

static void change_set_workers(skua_server *server, bool has_workers)
{
    (void)pthread_mutex_lock(&server->change.shared.lock);
    server->change.shared.has_workers = has_workers;
    (void)pthread_mutex_unlock(&server->change.shared.lock);
}

__attribute__((cold)) void change_allow(skua_server *server)
{
    change_set_workers(server, true);
    change_set(server, true);
}

__attribute__((cold)) void change_forbid(skua_server *server)
{
    change_set(server, false);
}

__attribute__((cold)) void change_workers_go(skua_server *server)
{
    change_forbid(server);
    change_set_workers(server, false);
}

__attribute__((cold)) void change_ended(skua_server *server)
{
    (void)pthread_mutex_lock(&server->change.one);
    server->foreign_open = false;
    server->sim_kernel = NULL;
    server->started = false;
    (void)pthread_mutex_unlock(&server->change.one);
}

// Another thread may be ending the server: its workers are looked at while they stay.
static void change_expect_no_worker(skua_server *server, const char *function)
{
    (void)pthread_mutex_lock(&server->change.shared.lock);
    if (server->change.shared.has_workers) server_expect_no_worker(server, function);
    (void)pthread_mutex_unlock(&server->change.shared.lock);
}

__attribute__((cold)) bool change_begin(skua_server *server, const char *function)
{
    change_expect_no_worker(server, function);
    (void)pthread_mutex_lock(&server->change.one);
    return server->change.is_open;
}

__attribute__((cold)) void change_end(skua_server *server)
{
    (void)pthread_mutex_unlock(&server->change.one);
}

// ---- Telling ----

static void change_arrive(mail *letter, void *reader)
{
    (void)letter;
    server_worker *w = reader;
    w->self.server->change.heard(w);
}

__attribute__((cold)) void change_followed(server_worker *w)
{
    server_change *c = &w->self.server->change;
    gate_leave(&w->posting);
    (void)pthread_mutex_lock(&c->shared.lock);
    c->shared.left--;
    (void)pthread_cond_signal(&c->shared.changed);
    (void)pthread_mutex_unlock(&c->shared.lock);
}

static void change_wait(server_change *c)
{
    (void)pthread_mutex_lock(&c->shared.lock);
    while (c->shared.left)
        (void)pthread_cond_wait(&c->shared.changed, &c->shared.lock);
    (void)pthread_mutex_unlock(&c->shared.lock);
}

static bool change_tell_one(server_change *c, server_worker *w)
{
    if (!gate_enter(&w->posting)) return false;
    (void)pthread_mutex_lock(&c->shared.lock);
    c->shared.left++;
    (void)pthread_mutex_unlock(&c->shared.lock);
    w->change.deliver = change_arrive;
    if (server_is_turned(w->self.server)) c->heard(w);
    else worker_post(&w->self, &w->change);
    return true;
}

// Others before worker 0, which hands on what it accepts: they must know by then what may come.
__attribute__((cold)) bool change_tell(skua_server *server, server_change_fn *heard)
{
    server_change *c = &server->change;
    bool told = false;
    c->heard = heard;
    for (unsigned i = server_worker_count(server); i-- > 0;)
        told = change_tell_one(c, server->workers[i]);
    if (!server_is_turned(server)) change_wait(c);
    return told;
}
