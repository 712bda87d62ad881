// SPDX-License-Identifier: MIT
//
// The life of a server: started, waited for, ended, freed.

#include "server/start.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "io/reserve.h"
#include "server/change.h"
#include "server/foreign.h"
#include "server/inherit.h"
#include "server/listening.h"
#include "server/secure.h"
#include "server/sites.h"
#include "server/server.h"
#include "server/staff.h"
#include "server/starter.h"
#include "server/stats.h"
#include "server/stop.h"
#include "server/testbed.h"
#include "server/worker_run.h"
#include "thread/cores.h"
#include "thread/ram.h"

#include <limits.h>
#include <stdio.h>

// ---- The end of a run ----

static void server_count(skua_server *server, unsigned workers)
{
    atomic_store(&server->shared.worker_count, workers);
    atomic_store(&server->shared.serving_count, workers);
}

static void server_drop_workers(skua_server *server)
{
    gate_close(&server->running);
    gate_wait(&server->running);
    staff_drop(server, 0, server_worker_count(server));
    server_count(server, 0);
}

static void server_close_workers(skua_server *server)
{
    server_drop_workers(server);
    for (unsigned i = 0; i < server->listener_count; i++) {
        server_listener *listener = &server->listeners[i];
        if (server->shared_fds[i] >= 0 && !listener->is_given)
            socket_close(&listener->address, server->shared_fds[i]);
        server->shared_fds[i] = -1;
    }
    server_close_given(server);
}

// ---- The start ----

static skua_status server_check(skua_server *server)
{
    if (server->started)
        return server_fail(server, SKUA_ESTATE, "the server has been started already");
    if (server->wrong) {
        if (strcmp(server->wrong, "listen") == 0) return SKUA_EINVAL; // said already
        if (strcmp(server->wrong, "hosts") == 0)
            return server_fail(server, SKUA_EINVAL,
                               "the configuration's hosts takes names without ports, separated by "
                               "spaces");
        if (strcmp(server->wrong, "trusted") == 0)
            return server_fail(server, SKUA_EINVAL,
                               "the configuration's trusted takes up to %d networks like "
                               "10.0.0.0/8, without bits behind the prefix, and \"unix\"",
                               NETWORKS_MAX);
        if (strcmp(server->wrong, "forwarded") == 0)
            return server_fail(server, SKUA_EINVAL,
                               "the configuration's forwarded needs trusted, the proxies whose "
                               "word is taken");
        return server_fail(server, SKUA_EINVAL, "the configuration's %s is out of range",
                           server->wrong);
    }
    skua_status secured = secure_check(server);
    if (secured) return secured;
    server->asked = io_backend_find(server->backend_text);
    if (!server->asked) {
        return server_fail(server, SKUA_EUNSUPPORTED, "there is no backend \"%.40s\" here; try %s",
                           server->backend_text, io_backend_find(NULL)->name);
    }
    return SKUA_OK;
}

// The workers that accept, from number 0 on.
static unsigned server_acceptors(const skua_server *server)
{
    return server->hands_off ? 1 : server_worker_count(server);
}

// A socket that there is only one of is worker 0's, and one that workers could share is the server's to close.
static skua_status server_listen_one(skua_server *server, unsigned number, unsigned worker)
{
    server_listener *listener = &server->listeners[number];
    int fd = -1;
    listener->is_one =
        server_acceptors(server) == 1 || listener->is_given || listener->address.is_unix;
    if (listener->is_gone || (listener->is_one && worker)) return SKUA_OK;
    skua_status status = listening_open(server, number, worker, &fd);
    if (fd != server->shared_fds[number]) server->workers[worker]->listen_fds[number] = fd;
    return status;
}

static void server_let_accept(server_worker *w)
{
    const skua_server *server = w->self.server;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        int fd = w->self.index == 0 ? server->shared_fds[i] : -1;
        if (fd < 0) fd = w->listen_fds[i];
        if (fd >= 0) listening_accept(w, i, fd);
    }
}

// All are open before anybody is accepted.
static skua_status server_listen_all(skua_server *server)
{
    unsigned acceptors = server_acceptors(server);
    for (unsigned w = 0; w < acceptors; w++) {
        for (unsigned i = 0; i < server->listener_count; i++) {
            skua_status status = server_listen_one(server, i, w);
            if (status) return status;
        }
    }
    for (unsigned w = 0; w < acceptors; w++)
        server_let_accept(server->workers[w]);
    return SKUA_OK;
}

static server_log *server_new_log(const skua_server *server)
{
    const skua_config *config = &server->config;
    return log_new(&(log_config){ .format = config->log,
                                  .buffer_max = config->log_buffer_max,
                                  .secrets = server->secrets_text,
                                  .write = config->log_write,
                                  .user = config->log_user });
}

static skua_status server_open_log(skua_server *server)
{
    server->log = server_new_log(server);
    if (!server->log) return server_fail(server, SKUA_ENOMEM, "cannot start the log");
    log_count(server->log, &server->memory);
    gate_open(&server->logging);
    return SKUA_OK;
}

// Threads that are the program's may be writing to it.
static void server_close_log(skua_server *server)
{
    gate_close(&server->logging);
    gate_wait(&server->logging);
    if (server->log) figure_add(&server->shared.lines_lost, log_lost(server->log));
    log_free(server->log); // NULL: its thread could not be had
    server->log = NULL;
}

// of memory, where nobody tells how much there is
enum { SERVER_RAM_OCTETS = 1 << 30 };

// A quarter: the kernel's buffers for the same connections take more than they do here, and the
// caches of files and whatever else runs want the rest.
static size_t server_memory_max(const skua_config *config)
{
    if (config->memory_max) return config->memory_max;
    uint64_t usable = ram_usable(), share = (usable ? usable : SERVER_RAM_OCTETS) / 4;
    return share < SIZE_MAX / 2 ? (size_t)share : SIZE_MAX / 2;
}

static skua_status server_open(skua_server *server, unsigned workers)
{
    budget_init(&server->memory, server_memory_max(&server->config), workers);
    server->error[0] = 0;
    if (server->has_run) server_forget_stop(server); // what came since belongs to that run
    server->has_run = false;
    atomic_store(&server->shared.pressure_told_ns, 0);
    atomic_store(&server->shared.late_told, false);
    atomic_store(&server->shared.broken, false);
    return server_open_log(server);
}

// Why a backend is not the one in use.
typedef struct server_refusal {
    const io_backend *backend; // NULL: none was refused
    const char *by;            // a system call
    skua_status why;
} server_refusal;

// A program that left the choice open needs no line: the name of the backend in use tells it.
static void server_say_refusal(skua_server *server, const server_refusal *refusal)
{
    char sentence[SERVER_ERROR_OCTETS];
    if (!refusal->backend || io_backend_is_auto(server->backend_text)) return;
    int len = snprintf(sentence, sizeof sentence, "%s cannot be used (%s: %s); %s is used",
                       refusal->backend->name, refusal->by, skua_status_text(refusal->why),
                       server->backend->name);
    if (len > 0) skua_log(server, slice_make(sentence, (size_t)len));
}

// Makes workers, each ready on the thread that will turn it: one of its own, or this one.
static skua_status server_staff(skua_server *server, server_need need, const io_backend *backend)
{
    server->backend = backend;
    server->is_run = need.is_run && !backend->settle;
    unsigned threaded = need.is_turned ? need.workers : server->is_run ? 1 : 0;
    skua_status status = staff_make(server, 0, threaded, need.workers);
    if (status) return status;
    server_count(server, need.workers);
    gate_open(&server->running);
    return SKUA_OK;
}

static skua_status server_refuse_foreign(skua_server *server, const io_backend *backend,
                                         const char **by)
{
    *by = "skua_open";
    return server_fail(server, SKUA_EUNSUPPORTED, "the backend %s cannot be turned by another loop",
                       backend->name);
}

// *by: what refused.
static skua_status server_staff_on(skua_server *server, server_need need, const io_backend *backend,
                                   const char **by)
{
    if (need.is_turned && !backend->fd) return server_refuse_foreign(server, backend, by);
    skua_status status = backend->probe ? backend->probe(by) : SKUA_OK;
    if (status) return status;
    *by = "a worker";
    return server_staff(server, need, backend);
}

// A backend may be missing in this kernel, or forbidden, or short of something by the time that the
// last worker opens.
// Then all workers have the next.
static skua_status server_staff_chosen(skua_server *server, server_need need)
{
    server_refusal first = { .backend = NULL };
    const io_backend *backend = server->asked;
    skua_status status = SKUA_OK;
    while (backend) {
        const char *by = NULL;
        server->error[0] = 0;
        status = server_staff_on(server, need, backend, &by);
        if (!status) break;
        if (!first.backend) first = (server_refusal){ .backend = backend, .by = by, .why = status };
        backend = io_backend_instead(backend);
    }
    if (!status) server_say_refusal(server, &first);
    else if (!server->error[0])
        (void)server_fail(server, status, "cannot make workers: %s", skua_status_text(status));
    return status;
}

// A stop that has been asked for is left for the next start.
static skua_status server_fail_start(skua_server *server, skua_status status)
{
    for (unsigned i = 0; i < server_worker_count(server); i++)
        worker_dismiss(server->workers[i]);
    start_barrier_tell(&server->barrier, START_BARRIER_END);
    (void)server_wait(server);
    return status;
}

// Workers are made before anything listens: no client connects to a server that cannot serve it.
__attribute__((cold)) skua_status server_prepare(skua_server *server, server_need need)
{
    skua_status status = server_check(server);
    if (!status && server->listener_count == 0) {
        status = server_fail(server, SKUA_EINVAL,
                             "there is no address to listen on; name one by skua_config.listen or "
                             "skua_listen");
    }
    if (status) return status;
    server->hosts = listening_hosts(server, listening_host_kind(server));
    server->hosts_now = &server->hosts;
    server_is_started(server);
    server->sim_kernel = NULL;
    server->hands_off = server->asks_handoff && need.workers > 1;
    status = server_open(server, need.workers);
    if (!status) status = server_staff_chosen(server, need);
    if (!status) status = secure_catch_up(server);
    if (!status) status = sites_catch_up(server);
    if (!status && !server_is_to_stop(server)) status = server_listen_all(server);
    if (status) return server_fail_start(server, status);
    server->reserve = reserve_add_server(server->config.files_reserve);
    server->uses_reserve = server->config.accepts_from_reserve;
    if (server->uses_reserve) reserve_add_user();
    staff_watch(server, 0, need.workers);
    server->has_run = true;
    return SKUA_OK;
}

static skua_status server_start(skua_server *server, bool is_run)
{
    unsigned workers = server->config.workers ? server->config.workers : cores_usable();
    skua_status status =
        server_prepare(server, (server_need){ .workers = workers, .is_run = is_run });
    if (status) return status;
    start_barrier_tell(&server->barrier, START_BARRIER_SERVE);
    change_allow(server);
    return SKUA_OK;
}

skua_status skua_start(skua_server *server)
{
    CONTRACT_SERVER(server);
    server_expect_alive(server, __func__);
    return server_start(server, false);
}

__attribute__((cold)) skua_status server_end(skua_server *server)
{
    change_workers_go(server);
    for (unsigned i = 0; i < server_worker_count(server); i++)
        worker_end(server->workers[i]);
    server_close_workers(server);
    server_close_log(server);
    if (server->uses_reserve) reserve_drop_user();
    server->uses_reserve = false;
    reserve_drop_server(server->reserve);
    server->reserve = 0;
    change_ended(server);
    if (!atomic_load(&server->shared.broken)) return SKUA_OK;
    return server_fail(server, SKUA_EIO, "%s", server->break_reason);
}

static void server_wait_for(server_worker *w)
{
    if (w->thread_started) {
        pthread_join(w->thread, NULL);
    } else if (w->self.server->is_run) {
        foreign_run(w);
    } else {
        while (worker_turn(w, 0)) {
        }
    }
}

// More may have been made meanwhile.
static void server_wait_for_all(skua_server *server)
{
    unsigned waited = 0;
    for (unsigned twice = 0; twice < 2; twice++) {
        for (; waited < server_worker_count(server); waited++)
            server_wait_for(server->workers[waited]);
        change_forbid(server);
    }
}

skua_status server_wait(skua_server *server)
{
    if (!server->started) return SKUA_OK;
    server->inside = true;
    if (server->foreign_open) foreign_wait(server);
    else server_wait_for_all(server);
    skua_status status = server_end(server);
    server->inside = false;
    return status;
}

skua_status skua_wait(skua_server *server)
{
    CONTRACT_SERVER(server);
    server_expect_starter(server, __func__);
    return server_wait(server);
}

// A program of a few lines looks at the status alone.
static void server_log_error(skua_server *server)
{
    slice sentence = slice_of(server->error);
    server_log *log = server->started ? NULL : server_new_log(server);
    if (log) log_message(log, sentence);
    else skua_log(server, sentence); // it runs, and this was the second start
    log_free(log);
}

skua_status skua_run(skua_server *server)
{
    CONTRACT_SERVER(server);
    server_expect_alive(server, __func__);
    skua_status status = server_start(server, true);
    if (!status) return server_wait(server);
    server_log_error(server);
    return status;
}

// ---- Over another backend ----

skua_status server_start_on(skua_server *server, const io_backend *backend, void *kernel,
                            int listener)
{
    skua_status status = server_check(server);
    if (status) return status;
    server_is_started(server);
    arrival like = { .peer.facts = (uint8_t)server->config.forwarded,
                     .secure = server->secure != NULL };
    server->hands_off = false;
    server->listeners[0].is_one = true; // it is no address of the server's
    server->sim_kernel = kernel;
    server->hosts = listening_hosts(server, HOSTS_ANY);
    server->hosts_now = &server->hosts;
    status = server_open(server, 1);
    if (!status)
        status = server_staff(server, (server_need){ .workers = 1, .is_turned = true }, backend);
    if (!status) status = sites_catch_up(server);
    if (status) return server_fail_start(server, status);
    server->has_run = true;
    if (!server_is_to_stop(server)) worker_listen(server->workers[0], 0, listener, &like);
    worker_begin(server->workers[0]);
    return SKUA_OK;
}

// ---- The end of it all ----

static void server_drop_keepsakes(skua_server *server)
{
    server_keepsake *keepsake;
    while ((keepsake = atomic_load_explicit(&server->shared.keepsakes, memory_order_acquire))) {
        atomic_store_explicit(&server->shared.keepsakes, keepsake->next, memory_order_relaxed);
        keepsake->drop(keepsake->user);
        memory_free(keepsake);
    }
}

__attribute__((cold)) void skua_server_free(skua_server *server)
{
    if (!server) return;
    server_expect_starter(server, __func__);
    if (server->started) {
        skua_stop(server, 0);
        (void)server_wait(server);
    }
    server->starter = thread_here();
    server->inside = true; // releases are callbacks, too
    server_close_given(server);
    start_barrier_deinit(&server->barrier);
    change_deinit(server);
    testbed_free(server->testbed);
    server_drop_keepsakes(server);
    sites_free(server);
    stats_free(server);
    blocking_free(server->blocking);
    thread_pool_free(server->helpers);
    thread_pool_free(server->disk);
    if (server->watch_set) watch_set_free(server->watch_set);
    site_routes_deinit(&server->own);
    secure_free(server);
    memory_free(server->hosts_text);
    memory_free(server->spool_text);
    memory_free(server->backend_text);
    memory_free(server->secrets_text);
    memory_free(server);
    memory_leave();
}
