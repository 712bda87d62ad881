// SPDX-License-Identifier: MIT
//
// The life of a worker: opened, turned until it is to end, closed.

#include "server/worker_run.h"

#include "base/assert.h"
#include "base/memory.h"
#include "disk/fetch.h"
#include "exchange/blocking.h"
#include "exchange/request_end.h"
#include "exchange/ticket.h"
#include "h1/session.h"
#include "h2/session.h"
#include "h2/worker.h"
#include "server/connection.h"
#include "server/connection_accept.h"
#include "server/handoff.h"
#include "server/locals.h"
#include "server/poll.h"
#include "server/parking.h"
#include "server/pressure.h"
#include "server/proxied.h"
#include "server/secure.h"
#include "server/sites.h"
#include "server/server.h"
#include "server/stats.h"
#include "server/stop.h"
#include "server/sweep.h"
#include "server/timer.h"
#include "server/transported.h"
#include "ws/life.h"
#include "ws/spare.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WORKER_BLOCKS_KEPT = 256 };

// While a server stops: for requests that were sent before, which are read in the next turns; and
// for responses on their way to those who go on sending.
static const int64_t worker_last_idle_ns = 100000000, worker_last_linger_ns = 200000000;

// between looks at the mail, when nothing else tells of it
static const int64_t worker_nap_ns = 1000000;

// ---- Mail ----

static void worker_woken(io_op *op, int64_t result)
{
    if (result < 0) return; // worker_open sees it
    server_worker *w = op->user;
    mailbox_deliver(&w->mail, w);
}

// The letter's way in: see disk_home.post.
static void worker_take_letter(skua_worker *self, mail *letter)
{
    server_worker *w = worker_of(self);
    mailbox_enter(&w->mail);
    if (mailbox_post(&w->mail, letter)) io_wake(&w->wake);
    mailbox_leave(&w->mail);
}

// ---- Accepting ----

// Clients that the kernel sends to this worker would wait for ever, though other workers may be
// well.
static void worker_cannot_accept(server_worker *w, int64_t result)
{
    server_break(w->self.server, "worker %u cannot accept connections: %s", w->self.index,
                 skua_status_text((skua_status)-result));
}

static arrival worker_arrival(const server_worker *w, const io_op *op, int64_t result)
{
    arrival came = w->arrivals[op - w->listeners];
    uint8_t facts = came.peer.facts;
    came.fd = (int)result;
    came.peer = op->peer;
    came.peer.facts = facts;
    return came;
}

static void worker_accepted(io_op *op, int64_t result)
{
    server_worker *w = op->user;
    if (result < 0) {
        worker_cannot_accept(w, result);
        return;
    }
    arrival came = worker_arrival(w, op, result);
    connection_accepted(w, &came);
}

static void worker_accepted_for_all(io_op *op, int64_t result)
{
    server_worker *w = op->user;
    if (result < 0) {
        worker_cannot_accept(w, result);
        return;
    }
    arrival came = worker_arrival(w, op, result);
    handoff_accepted(w, &came);
}

// Where worker 0 alone has the socket it accepts for all; one that rests has no connections for itself.
static bool worker_hands_off(const server_worker *w, unsigned number)
{
    const skua_server *server = w->self.server;
    unsigned serving = server_serving_count(server);
    return server->listeners[number].is_one ? serving > 1 : w->self.index >= serving;
}

void worker_share(server_worker *w)
{
    w->hands_off = false;
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        if (!w->listeners[i].active) continue;
        bool hands_off = worker_hands_off(w, i);
        w->listeners[i].done = hands_off ? worker_accepted_for_all : worker_accepted;
        w->hands_off = w->hands_off || hands_off;
    }
}

void worker_listen(server_worker *w, unsigned number, int fd, const arrival *like)
{
    SKUA_ASSERT(!w->listeners[number].active);
    SKUA_ASSERT(!like->secure || w->secure);
    w->arrivals[number] = *like;
    io_op *op = &w->listeners[number];
    *op = (io_op){ .code = IO_ACCEPT, .fd = fd, .user = w };
    io_submit(&w->self.loop, op);
    worker_share(w);
}

__attribute__((cold)) void worker_unlisten(server_worker *w, unsigned number)
{
    int fd = w->listen_fds[number];
    io_cancel(&w->self.loop, &w->listeners[number]);
    w->listen_fds[number] = -1;
    if (fd >= 0) (void)close(fd);
}

// Whether accepting may be tried again at once.
static bool worker_lacks_descriptors(io_loop *loop)
{
    server_worker *w = loop->owner;
    if (locals_evict(w)) return true;
    if (w->hands_off) handoff_evict(w);
    return false;
}

// ---- Life ----

static void worker_deadline(io_deadline *deadline, void *user)
{
    server_worker *w = user;
    if (deadline == &w->sweeping) sweep_now(w);
    else if (deadline == &w->pressing) pressure_look(w);
#ifndef SKUA_NO_HTTP2
    else if (deadline == &w->self.h2.resting) h2_session_rest_all(&w->self);
#endif
#ifndef SKUA_NO_WEBSOCKET
    else if (deadline == &w->self.parking) parking_look(w);
#endif
    else if (deadline == &w->settling) w->self.server->change.settled(w);
    else endpoint_deadline(w, deadline);
}

static void worker_init(server_worker *w, skua_server *server, unsigned index)
{
    const skua_config *config = &server->config;
    size_t method_octets = router_method_octets_max(server->own.parts.router);
    w->self.server = server;
    w->self.index = index;
    w->self.config = config;
    w->self.own = server->own.parts;
    w->self.log = server->log;
    w->self.hosts = server->hosts_now;
    w->self.trusted = &server->trusted;
    parking_open(w);
    w->keep_alive_ns = config->keep_alive_timeout_ns;
    w->linger_ns = config->linger_timeout_ns;
    pool_init(&w->connections, (sizeof(connection) + 15) & ~(size_t)15, IO_STREAMS_MAX);
    block_store_init(&w->self.blocks, WORKER_BLOCKS_KEPT);
    lease_init(&w->self.memory, &server->memory, 0, pressure_grown);
    w->self.out_octets_max = config->out_octets_max;
    w->self.blocks.memory = w->connections.memory = &w->self.memory;
    w->self.head_bounds = (head_limits){
        .head_octets_max = (uint32_t)config->head_octets_max,
        .target_octets_max = (uint32_t)config->target_octets_max,
        .method_octets_max = (uint16_t)(method_octets < UINT16_MAX ? method_octets : UINT16_MAX),
        .fields_max = (uint16_t)config->fields_max,
    };
    w->self.request_octets = request_octets_at(&w->self.head_bounds);
    w->self.chunk_limits = (chunk_limits){
        .ext_octets_max = config->chunk_ext_octets_max,
        .trailer_octets_max = config->trailer_octets_max,
        .trailers_max = config->fields_max,
    };
}

__attribute__((cold)) void worker_close(server_worker *w)
{
    mailbox_end(&w->mail);
    w->self.disk.thread = thread_here(); // its own has ended, and what is dropped is the worker's
    locals_drop_all(w);
    ticket_give_back(&w->self);
    timers_drop(&w->self);
    polls_drop(&w->self);
    io_cancel(&w->self.loop, &w->watches);
    io_cancel(&w->self.loop, &w->wake);
    io_loop_close(&w->self.loop);
    secure_close_worker(w);
    handoff_end(w);
    parking_close(w);
    h1_session_free_all(&w->self);
#ifndef SKUA_NO_HTTP2
    h2_worker_free_all(&w->self);
#endif
    sites_close_worker(w);
#ifndef SKUA_NO_WEBSOCKET
    ws_slot_give_back(&w->self);
    ws_spare_free_all(&w->self);
#endif
    worker_free_requests(&w->self);
    pool_deinit(&w->connections);
    block_store_deinit(&w->self.blocks);
    lease_end(&w->self.memory);
}

// The loop knows neither connections nor servers: it is told of both here.
__attribute__((cold)) static void worker_set_loop(server_worker *w, const skua_server *server)
{
    io_loop *loop = &w->self.loop;
    loop->events[ENDPOINT_SERVER] = &connection_role.events;
    loop->events[ENDPOINT_SECURE_SERVER] = &transported_role.events;
    loop->events[ENDPOINT_PROXIED_SERVER] = &proxied_role.events;
    loop->streams = &w->connections;
    loop->owner = w;
    loop->evict = worker_lacks_descriptors;
    loop->elsewhere = fetch_elsewhere;
    loop->send_turn_octets_max = server->config.send_turn_octets_max;
    loop->accepts_from_reserve = server->config.accepts_from_reserve;
    loop->kernel = server->sim_kernel;
    loop->memory = &w->self.memory;
}

__attribute__((cold)) static void worker_set_disk(server_worker *w, skua_server *server)
{
    w->self.disk = (disk_home){
        .thread = thread_here(), // until it has one of its own
        .asker_of = request_asker_of,
        .work_is_over = request_work_is_over,
        .loop = &w->self.loop,
        .disk_threads = server->disk,
        .helper_threads = server->helpers,
        .post = worker_take_letter,
        .fetching_max = server->config.connections_max,
        .inline_work = server->sim_kernel != NULL,
    };
}

// From its end on the worker can be woken by other threads.
__attribute__((cold)) static skua_status worker_await_letters(server_worker *w)
{
    w->wake = (io_op){ .code = IO_WAKE, .done = worker_woken, .user = w, .fd = -1 };
    io_submit(&w->self.loop, &w->wake);
    gate_open(&w->posting);
    skua_status status = io_turn(&w->self.loop, 0);
    if (!status && !w->wake.active) status = SKUA_ENOFILE;
    return status;
}

__attribute__((cold)) skua_status worker_open(server_worker *w, skua_server *server, unsigned index,
                                              const io_backend *backend)
{
    worker_init(w, server, index);
    worker_set_loop(w, server);
    worker_set_disk(w, server);
    skua_status status = secure_open_worker(w);
    if (!status) status = io_loop_open(&w->self.loop, backend);
    if (status) {
        secure_close_worker(w);
        return status;
    }
    io_timers_init(&w->self.loop.timers, w->self.loop.now_ns, worker_deadline, w);
    status = worker_await_letters(w);
    if (!status && server->config.log != SKUA_LOG_NONE &&
        !(w->self.lane = log_lane_open(server->log))) {
        status = SKUA_ENOMEM;
    }
    if (!status && !(w->self.figures = stats_of_worker(server, index))) status = SKUA_ENOMEM;
    if (!status) status = sites_open_worker(w);
    if (status) worker_close(w);
    w->self.tells = ((w->self.lane ? TELL_LOG : 0) | (server->config.stats ? TELL_FIGURES : 0) |
                     (backend->clock_ns ? TELL_CLOCK : 0));
    return status;
}

// ---- Ending ----

// A listener that is being emptied is so to the end, but for a stop.
static void worker_stop_accepting(server_worker *w, bool at_once)
{
    w->is_deaf = true;
    if (at_once && w->settles) w->self.server->change.settled(w);
    for (unsigned i = 0; i < WORKER_LISTENERS_MAX; i++) {
        bool settles = w->settles && (w->self.server->change.going >> i & 1);
        if (!settles)
            worker_unlisten(w, i); // from here on, clients are refused and not left waiting
    }
}

static void worker_hurry_connections(server_worker *w)
{
    if (w->keep_alive_ns > worker_last_idle_ns) w->keep_alive_ns = worker_last_idle_ns;
    if (w->linger_ns > worker_last_linger_ns) w->linger_ns = worker_last_linger_ns;
    endpoint_hurry_all(w);
}

// Connections end with their next responses, and new ones with their first.
static void worker_retire(server_worker *w)
{
    if (!w->is_deaf && atomic_load(&w->self.server->shared.leaves)) worker_stop_accepting(w, false);
    if (w->self.disk.retiring) return;
    w->self.disk.retiring = true;
    endpoint_hurry_all(w);
}

static void worker_drain(server_worker *w, int64_t grace_ns)
{
    if (grace_ns == STOP_NEVER) {
        worker_retire(w);
        return;
    }
    int64_t end = w->self.loop.now_ns + grace_ns;
    if (!w->self.disk.draining || end < w->end_at_ns) w->end_at_ns = end;
    if (w->self.disk.draining) return;
    w->self.disk.draining = w->self.disk.retiring = true;
    worker_stop_accepting(w, true);
    worker_hurry_connections(w);
#ifndef SKUA_NO_WEBSOCKET
    parking_stop(w);
    ws_session_close_all(&w->self);
#endif
}

void worker_dismiss(server_worker *w)
{
    SKUA_ASSERT(!w->listeners[0].active);
    w->self.disk.draining = w->self.disk.retiring = true;
    w->end_at_ns = w->self.loop.now_ns;
}

// The stop is looked at twice: stopping to accept may enter the kernel, which takes in what wakes
// the worker for a stop with a smaller grace.
static void worker_look_at_stop(server_worker *w)
{
    long long seen = -1, grace;
    while ((grace = atomic_load(&w->self.server->shared.grace_ns)) != seen) {
        worker_drain(w, grace);
        seen = grace;
    }
}

// Everything that could still send it a letter, but for skua_post.
static bool worker_is_done(const server_worker *w)
{
    return w->connections.in_use == 0 && w->self.disk.offloaded == 0 &&
           w->self.disk.file_ops == 0 && w->self.disk.fetching == 0 && w->self.orphans == 0 &&
           w->self.blocked_requests == 0 && w->self.held == 0;
}

static void worker_tell_late(const server_worker *w)
{
    skua_server *server = w->self.server;
    unsigned late = blocking_busy(server->blocking);
    if (late == 0 ||
        atomic_exchange_explicit(&server->shared.late_told, true, memory_order_relaxed))
        return;
    char text[96];
    int len = snprintf(text, sizeof text, "%u blocking handler%s past the deadline of skua_stop",
                       late, late == 1 ? " still runs" : "s still run");
    skua_log(server, slice_make(text, (size_t)len));
}

// Functions that were posted before are called. Later ones are refused: one that posts itself again
// would keep the worker from ever ending.
static bool worker_has_ended(server_worker *w)
{
    if (!w->self.disk.draining) return false;
    if (w->failed || w->self.loop.now_ns >= w->end_at_ns) {
        if (w->connections.in_use) endpoint_abort_all(w);
        if (w->self.blocked_requests) worker_tell_late(w);
    }
    if (!worker_is_done(w)) return false;
    gate_close(&w->posting);
    return gate_is_empty(&w->posting);
}

static int64_t worker_wait_ns(const server_worker *w, int64_t timeout_ns)
{
    if (w->failed) return timeout_ns == 0 ? 0 : worker_nap_ns;
    if (!w->self.disk.draining) return timeout_ns;
    int64_t left = w->end_at_ns - w->self.loop.now_ns;
    if (left < 0) left = w->connections.in_use ? 0 : timeout_ns;
    return timeout_ns < 0 || left < timeout_ns ? left : timeout_ns;
}

bool worker_goes_on(server_worker *w)
{
    worker_look_at_stop(w);
    return !worker_has_ended(w);
}

// Connections are lost, but whoever has work of this worker's finds it until that has come back.
static void worker_fail(server_worker *w)
{
    w->failed = true;
    io_abandon(&w->self.loop);
    endpoint_abort_all(w);
    server_break(w->self.server, "worker %u cannot go on: %s has failed", w->self.index,
                 w->self.loop.backend->name);
}

// Nothing wakes it any more.
static void worker_turn_failed(server_worker *w, int64_t wait_ns)
{
    (void)io_turn(&w->self.loop, 0);
    mailbox_deliver(&w->mail, w);
    if (wait_ns) nanosleep(&(struct timespec){ .tv_nsec = (long)wait_ns }, NULL);
}

bool worker_turn(server_worker *w, int64_t timeout_ns)
{
    if (!worker_goes_on(w)) {
        io_flush(&w->self.loop); // what was closed last
        return false;
    }
    int64_t wait_ns = worker_wait_ns(w, timeout_ns);
    if (w->failed) worker_turn_failed(w, wait_ns);
    else if (io_turn(&w->self.loop, wait_ns)) worker_fail(w);
    return true;
}

int64_t worker_timeout_ns(const server_worker *w)
{
    int64_t wait_ns = worker_wait_ns(w, io_wait_ns(&w->self.loop));
    return wait_ns < IO_WAIT_MAX_NS ? wait_ns : IO_WAIT_MAX_NS;
}

void worker_begin(server_worker *w)
{
    const skua_config *config = worker_config(&w->self);
    w->began = true;
    server_relay *relay = w->self.index == 0 ? w->self.server->relay : NULL;
    if (relay) relay->begin(relay, &w->self);
    if (config->on_worker_start) config->on_worker_start(&w->self, config->hook_user);
}

void worker_end(server_worker *w)
{
    const skua_config *config = worker_config(&w->self);
    if (!w->began) return;
    w->began = false;
    if (config->on_worker_end) config->on_worker_end(&w->self, config->hook_user);
    server_relay *relay = w->self.index == 0 ? w->self.server->relay : NULL;
    if (relay) relay->end(relay, &w->self);
}
