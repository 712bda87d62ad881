// SPDX-License-Identifier: MIT
//
// Staff. A worker that is made stays until the run is over. When fewer are to serve, those with the highest numbers
// rest: new connections go to the others, also those that come by a socket of theirs, since closing one would lose
// whom the kernel has put into its queue; the connections that they have go on until they end. So tickets, topics and
// figures of theirs stay right, and one that is to serve again is simply woken.

#include "server/staff.h"

#include "base/contract.h"
#include "base/memory.h"
#include "server/change.h"
#include "server/listening.h"
#include "server/secure.h"
#include "server/sites.h"
#include "server/stop.h"
#include "server/worker_run.h"
#include "thread/cores.h"

#include <signal.h>

// ---- Making ----

static skua_status staff_open_one(skua_server *server, unsigned index)
{
    server_worker *w = memory_zeroed(sizeof *w);
    if (!w) return SKUA_ENOMEM;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++)
        w->listen_fds[i] = -1;
    skua_status status = worker_open(w, server, index, server->backend);
    if (status) memory_free(w);
    else server->workers[index] = w;
    return status;
}

static void staff_close_one(server_worker *w)
{
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++)
        worker_unlisten(w, i);
    worker_close(w);
    memory_free(w);
}

__attribute__((cold)) void staff_drop(skua_server *server, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        staff_close_one(server->workers[i]);
        server->workers[i] = NULL;
    }
}

static void *staff_thread(void *user)
{
    server_worker *w = user;
    w->self.disk.thread = thread_here();
    start_barrier_order order =
        start_barrier_report(&w->self.server->barrier, io_settle(&w->self.loop));
    if (order == START_BARRIER_LEAVE) return NULL;
    if (order == START_BARRIER_SERVE) worker_begin(w);
    while (worker_turn(w, -1)) {
    }
    worker_end(w);
    return NULL;
}

// Workers take no signals: those are the program's, and SIGPIPE (sendfile to a peer that reset) is
// nobody's.
// Returns how many there are.
static unsigned staff_make_threads(skua_server *server, unsigned first, unsigned end)
{
    sigset_t all, before;
    unsigned made = first;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; made < end; made++) {
        server_worker *w = server->workers[made];
        if (pthread_create(&w->thread, NULL, staff_thread, w) != 0) break;
        w->thread_started = true;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made - first;
}

static void staff_dismiss_threads(skua_server *server, unsigned first, unsigned end)
{
    start_barrier_tell(&server->barrier, START_BARRIER_LEAVE);
    for (unsigned i = first; i < end; i++) {
        server_worker *w = server->workers[i];
        if (w->thread_started) pthread_join(w->thread, NULL);
        w->thread_started = false;
    }
}

static skua_status staff_start_threads(skua_server *server, unsigned first, unsigned end)
{
    start_barrier_again(&server->barrier);
    unsigned made = staff_make_threads(server, first, end);
    skua_status status = start_barrier_hear(&server->barrier, made);
    if (made < end - first) status = server_fail(server, SKUA_ENOMEM, "cannot start a thread");
    if (status) staff_dismiss_threads(server, first, end);
    return status;
}

__attribute__((cold)) skua_status staff_make(skua_server *server, unsigned first, unsigned threaded,
                                             unsigned end)
{
    skua_status status = SKUA_OK;
    unsigned made = first;
    while (made < end && !status) {
        status = staff_open_one(server, made);
        if (!status) made++;
    }
    for (unsigned i = first; i < threaded && !status; i++)
        status = io_settle(&server->workers[i]->self.loop);
    if (!status && threaded < end) status = staff_start_threads(server, threaded, end);
    if (status) staff_drop(server, first, made);
    return status;
}

static void staff_watch_done(io_op *op, int64_t result)
{
    server_worker *w = op->user;
    if (result < 0) return; // freshness then rests on looking once a second
    watch_set_read(w->self.server->watch_set);
    io_submit(&w->self.loop, op);
}

__attribute__((cold)) void staff_watch(skua_server *server, unsigned first, unsigned end)
{
    int fd = watch_set_fd(server->watch_set);
    for (unsigned i = first; i < end && fd >= 0; i++) {
        server_worker *w = server->workers[i];
        w->watches = (io_op){ .code = IO_POLL, .fd = fd, .done = staff_watch_done, .user = w };
        io_submit(&w->self.loop, &w->watches);
    }
}

// ---- More of them ----

// They get what has changed since they were opened; what changes from here on is told to them.
static skua_status staff_count(skua_server *server, unsigned first, unsigned end)
{
    skua_status status = SKUA_OK;
    sites_lock(server);
    secure_lock(server);
    for (unsigned i = first; i < end && !status; i++) {
        status = sites_equip(server->workers[i]);
        if (!status) status = secure_equip(server->workers[i]);
    }
    if (!status) atomic_store_explicit(&server->shared.worker_count, end, memory_order_release);
    secure_unlock(server);
    sites_unlock(server);
    return status;
}

// They are known to nobody, so that closing a socket that has just been opened is all that there is to undo.
static skua_status staff_listen(skua_server *server, unsigned first, unsigned end)
{
    skua_status status = SKUA_OK;
    for (unsigned w = first; w < end; w++) {
        for (unsigned i = 0; i < server->listener_count && !status; i++) {
            const server_listener *listener = &server->listeners[i];
            if (listener->is_gone || listener->is_one) continue;
            status = listening_open(server, i, w, &server->workers[w]->listen_fds[i]);
        }
    }
    return status;
}

static void staff_accept(server_worker *w)
{
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        if (w->listen_fds[i] >= 0) listening_accept(w, i, w->listen_fds[i]);
    }
}

static skua_status staff_add(skua_server *server, unsigned first, unsigned end)
{
    bool threads = !server_is_turned(server);
    skua_status status = staff_make(server, first, threads ? first : end, end);
    if (status) return status;
    status = staff_listen(server, first, end);
    if (!status) status = staff_count(server, first, end);
    if (status) {
        staff_dismiss_threads(server, first, end);
        staff_drop(server, first, end);
        return status;
    }
    // Workers that pass connections on find the new ones as they were made.
    atomic_store_explicit(&server->shared.serving_count, end, memory_order_release);
    staff_watch(server, first, end);
    for (unsigned i = first; i < end; i++) {
        staff_accept(server->workers[i]);
        if (!threads) worker_begin(server->workers[i]);
    }
    start_barrier_tell(&server->barrier, START_BARRIER_SERVE);
    return SKUA_OK;
}

// ---- As many as are wanted ----

static void staff_follow(server_worker *w)
{
    worker_share(w);
    change_followed(w);
}

static skua_status staff_set(skua_server *server, unsigned workers)
{
    unsigned count = server_worker_count(server);
    if (workers > SERVER_WORKERS_MAX)
        return server_fail(server, SKUA_EINVAL, "more than %d workers", SERVER_WORKERS_MAX);
    if (server->foreign_open)
        return server_fail(server, SKUA_ESTATE, "there is one worker, which the caller turns");
    if (server_is_to_stop(server))
        return server_fail(server, SKUA_ECLOSED, "the server is about to stop");
    skua_status status = workers > count ? staff_add(server, count, workers) : SKUA_OK;
    if (status) return status;
    atomic_store_explicit(&server->shared.serving_count, workers, memory_order_release);
    return change_tell(server, staff_follow) ? SKUA_OK : SKUA_ECLOSED;
}

__attribute__((cold)) skua_status skua_workers_set(skua_server *server, unsigned workers)
{
    CONTRACT_SERVER(server);
    if (!workers) workers = cores_usable();
    skua_status status;
    if (change_begin(server, __func__)) status = staff_set(server, workers);
    else status = server_fail(server, SKUA_ESTATE, "the server is not running");
    change_end(server);
    return status;
}
