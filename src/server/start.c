// SPDX-License-Identifier: MIT
//
// The life of a server: started, waited for, ended, freed.

#include "server/start.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "io/reserve.h"
#include "io/socket_why.h"
#include "server/foreign.h"
#include "server/inherit.h"
#include "server/secure.h"
#include "server/sites.h"
#include "server/server.h"
#include "server/starter.h"
#include "server/stats.h"
#include "server/stop.h"
#include "server/testbed.h"
#include "server/worker_run.h"
#include "thread/cores.h"
#include "thread/ram.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

// ---- The end of a run ----

static void server_drop_workers(skua_server *server)
{
    gate_close(&server->running);
    gate_wait(&server->running);
    for (unsigned i = 0; i < server->worker_count; i++) {
        server_worker *w = server->workers[i];
        server_close_listeners(server, w);
        worker_close(w);
        memory_free(w);
    }
    server->worker_count = 0;
    memory_free(server->workers);
    server->workers = NULL;
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

// The hosts that are served when none are named. A page in a browser reaches TCP addresses alone,
// so a Unix socket beside one neither opens nor closes it.
static host_kind server_hosts_by_addresses(const skua_server *server)
{
    host_kind kind = HOSTS_ANY;
    for (unsigned i = 0; i < server->listener_count; i++) {
        const socket_address *address = &server->listeners[i].address;
        if (address->is_unix) continue;
        if (!address->is_loopback) return HOSTS_ANY;
        kind = HOSTS_LOOPBACK;
    }
    return kind;
}

// Where TLS is spoken, each connection has a say.
static host_rule server_hosts(const skua_server *server, host_kind otherwise)
{
    host_rule rule = hosts_of(server->hosts_text, otherwise);
    if (server->secure && rule.kind == HOSTS_ANY) rule.kind = HOSTS_ANY_BY_TRANSPORT;
    return rule;
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

static skua_status server_say_why(skua_server *server, const server_listener *listener,
                                  skua_status status)
{
    char why[SOCKET_WHY_OCTETS];
    socket_why(&listener->address, status, why);
    return server_fail(server, status, "%s", why);
}

// The workers that accept, from number 0 on.
static unsigned server_acceptors(const skua_server *server)
{
    return server->hands_off ? 1 : server->worker_count;
}

// A Unix socket is opened once, one that was given is there already; TCP is opened once for each
// worker that accepts, so that the kernel spreads connections.
static skua_status server_listen_one(skua_server *server, server_worker *w, unsigned i)
{
    server_listener *listener = &server->listeners[i];
    bool shared = server_acceptors(server) > 1 && !listener->address.is_unix;
    int backlog = (int)server->config.backlog;
    if (listener->is_given && listener->given < 0) {
        return server_fail(server, SKUA_ESTATE, "the socket given for %s has been closed",
                           listener->text);
    }
    if (listener->is_given) server->shared_fds[i] = listener->given;
    if (server->shared_fds[i] >= 0) {
        w->listen_fds[i] = server->shared_fds[i];
        return SKUA_OK;
    }
    if (w->self.index == 0 && shared && socket_in_use(&listener->address)) {
        return server_say_why(server, listener, SKUA_EADDRINUSE);
    }
    skua_status status = socket_listen(&listener->address, backlog, shared, &w->listen_fds[i]);
    if (status) return server_say_why(server, listener, status);
    if (listener->address.is_unix) server->shared_fds[i] = w->listen_fds[i];
    socket_address_write(&listener->address, listener->text);
    return SKUA_OK;
}

// A socket that there is only one of would wake every worker for each connection, or the same one
// for all: worker 0 hands on what it accepts there.
static void server_let_accept(const skua_server *server, server_worker *w)
{
    bool several = server->worker_count > 1;
    for (unsigned i = 0; i < server->listener_count; i++) {
        bool is_one = server->hands_off || server->shared_fds[i] >= 0;
        const server_listener *listener = &server->listeners[i];
        arrival like = { .peer.facts = (uint8_t)listener->forwarded, .secure = listener->secure };
        if (w->self.index == 0 || !is_one)
            worker_listen(w, w->listen_fds[i], is_one && several, &like);
    }
}

static skua_status server_listen_all(skua_server *server)
{
    unsigned acceptors = server_acceptors(server);
    for (unsigned w = 0; w < acceptors; w++) {
        for (unsigned i = 0; i < server->listener_count; i++) {
            skua_status status = server_listen_one(server, server->workers[w], i);
            if (status) return status;
        }
    }
    for (unsigned w = 0; w < acceptors; w++)
        server_let_accept(server, server->workers[w]);
    return SKUA_OK;
}

static skua_status server_open_worker(skua_server *server, unsigned index)
{
    server_worker *w = memory_zeroed(sizeof *w);
    if (!w) return SKUA_ENOMEM;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++)
        w->listen_fds[i] = -1;
    skua_status status = worker_open(w, server, index, server->backend);
    if (status) {
        memory_free(w);
        return status;
    }
    server->workers[server->worker_count++] = w;
    return SKUA_OK;
}

static skua_status server_open_workers(skua_server *server, unsigned count,
                                       const io_backend *backend)
{
    server->backend = backend;
    server->workers = memory_array(count, sizeof(server_worker *));
    skua_status status = server->workers ? SKUA_OK : SKUA_ENOMEM;
    for (unsigned i = 0; i < count && status == SKUA_OK; i++)
        status = server_open_worker(server, i);
    return status;
}

static void *server_thread(void *user)
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
static unsigned server_make_threads(skua_server *server)
{
    sigset_t all, before;
    unsigned made = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; made < server->worker_count; made++) {
        server_worker *w = server->workers[made];
        if (pthread_create(&w->thread, NULL, server_thread, w) != 0) break;
        w->thread_started = true;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

static void server_dismiss_threads(skua_server *server)
{
    start_barrier_tell(&server->barrier, START_BARRIER_LEAVE);
    for (unsigned i = 0; i < server->worker_count; i++) {
        server_worker *w = server->workers[i];
        if (w->thread_started) pthread_join(w->thread, NULL);
        w->thread_started = false;
    }
}

// All of them settled, or none.
static skua_status server_start_threads(skua_server *server)
{
    start_barrier_again(&server->barrier);
    unsigned made = server_make_threads(server);
    skua_status status = start_barrier_hear(&server->barrier, made);
    if (made < server->worker_count)
        status = server_fail(server, SKUA_ENOMEM, "cannot start a thread");
    if (status) server_dismiss_threads(server);
    return status;
}

static void server_watch_done(io_op *op, int64_t result)
{
    server_worker *w = op->user;
    if (result < 0) return; // freshness then rests on looking once a second
    watch_set_read(w->self.server->watch_set);
    io_submit(&w->self.loop, op);
}

static void server_watch_directories(skua_server *server)
{
    int fd = watch_set_fd(server->watch_set);
    for (unsigned i = 0; i < server->worker_count && fd >= 0; i++) {
        server_worker *w = server->workers[i];
        w->watches = (io_op){ .code = IO_POLL, .fd = fd, .done = server_watch_done, .user = w };
        io_submit(&w->self.loop, &w->watches);
    }
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
    figure_add(&server->shared.lines_lost, log_lost(server->log));
    log_free(server->log);
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
    skua_status status = server_open_workers(server, need.workers, backend);
    if (!status)
        status =
            need.threads ? server_start_threads(server) : io_settle(&server->workers[0]->self.loop);
    if (!status) gate_open(&server->running);
    else server_drop_workers(server);
    return status;
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
    if (!need.threads && !backend->fd) return server_refuse_foreign(server, backend, by);
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
    for (unsigned i = 0; i < server->worker_count; i++)
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
    server->hosts = server_hosts(server, server_hosts_by_addresses(server));
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
    server_watch_directories(server);
    server->has_run = true;
    return SKUA_OK;
}

static skua_status server_start(skua_server *server)
{
    unsigned workers = server->config.workers ? server->config.workers : cores_usable();
    skua_status status =
        server_prepare(server, (server_need){ .workers = workers, .threads = true });
    if (!status) start_barrier_tell(&server->barrier, START_BARRIER_SERVE);
    return status;
}

skua_status skua_start(skua_server *server)
{
    CONTRACT_SERVER(server);
    server_expect_alive(server, __func__);
    return server_start(server);
}

__attribute__((cold)) skua_status server_end(skua_server *server)
{
    for (unsigned i = 0; i < server->worker_count; i++)
        worker_end(server->workers[i]);
    server_close_workers(server);
    server_close_log(server);
    reserve_drop_server(server->reserve);
    server->reserve = 0;
    server->foreign_open = false;
    server->started = false;
    if (!atomic_load(&server->shared.broken)) return SKUA_OK;
    return server_fail(server, SKUA_EIO, "%s", server->break_reason);
}

static void server_wait_for(server_worker *w)
{
    if (w->thread_started) {
        pthread_join(w->thread, NULL);
    } else {
        while (worker_turn(w, 0)) {
        }
    }
}

skua_status server_wait(skua_server *server)
{
    if (!server->started) return SKUA_OK;
    server->inside = true;
    if (server->foreign_open) foreign_wait(server);
    else
        for (unsigned i = 0; i < server->worker_count; i++)
            server_wait_for(server->workers[i]);
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
    skua_status status = server_start(server);
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
    server->sim_kernel = kernel;
    server->hosts = server_hosts(server, HOSTS_ANY);
    status = server_open(server, 1);
    if (!status) status = server_staff(server, (server_need){ .workers = 1 }, backend);
    if (!status) status = sites_catch_up(server);
    if (status) return server_fail_start(server, status);
    server->has_run = true;
    if (!server_is_to_stop(server)) worker_listen(server->workers[0], listener, false, &like);
    worker_begin(server->workers[0]);
    return SKUA_OK;
}

// ---- The end of it all ----

static void server_drop_keepsakes(skua_server *server)
{
    while (server->keepsakes) {
        server_keepsake *keepsake = server->keepsakes;
        server->keepsakes = keepsake->next;
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
