// SPDX-License-Identifier: MIT
//
// Worker: its life, and the parts of the public API that are about it.

#include "server/worker.h"

#include "base/assert.h"
#include "base/memory.h"
#include "http/date.h"
#include "server/blocking.h"
#include "server/connection.h"
#include "disk/fetch.h"
#include "server/handoff.h"
#include "server/server.h"
#include "server/ticket.h"
#include "server/timer.h"

#include <time.h>

enum { WORKER_BLOCKS_KEPT = 256 };

// between looks at the mail, when nothing else tells of it
static const int64_t worker_nap_ns = 1000000;

const skua_config *worker_config(const skua_worker *w)
{
    return &w->server->config;
}

// ---- Mail ----

static void worker_woken(io_op *op, int64_t result)
{
    if (result < 0) return; // worker_open sees it
    skua_worker *w = op->user;
    mailbox_deliver(&w->mail, w);
}

void worker_post(skua_worker *w, mail *letter)
{
    mailbox_enter(&w->mail);
    if (mailbox_post(&w->mail, letter)) io_wake(&w->wake);
    mailbox_leave(&w->mail);
}

// ---- Accepting ----

static void worker_accepted(io_op *op, int64_t result)
{
    skua_worker *w = op->user;
    if (result < 0) {
        // Those whom the kernel sends here would wait for ever, though other workers may be well.
        server_break(w->server, "worker %u cannot accept connections: %s", w->index,
                     skua_status_text((skua_status)-result));
        return;
    }
    if (w->server->hands_off) handoff_accepted(w, (int)result, &op->peer);
    else connection_accepted(w, (int)result, &op->peer);
}

void worker_listen(skua_worker *w, int fd)
{
    SKUA_ASSERT(w->listener_count < WORKER_LISTENERS_MAX);
    io_op *op = &w->listeners[w->listener_count++];
    *op = (io_op){ .code = IO_ACCEPT, .fd = fd, .done = worker_accepted, .user = w };
    io_submit(&w->loop, op);
}

bool worker_has_room(const skua_worker *w)
{
    return !w->failed && w->connections.in_use < w->connections.items_max;
}

bool worker_evict(skua_worker *w)
{
    bool any = false;
    for (unsigned i = 0; i < w->server->local_count; i++) {
        const skua_local_desc *desc = &w->server->locals[i];
        if (w->locals[i] && desc->evict && desc->evict(w, w->locals[i], desc->user)) any = true;
    }
    return any;
}

// Whether accepting may be tried again at once.
static bool worker_lacks_descriptors(io_loop *loop)
{
    skua_worker *w = loop->owner;
    if (worker_evict(w)) return true;
    if (w->server->hands_off) handoff_evict(w);
    return false;
}

// ---- Life ----

static void worker_init(skua_worker *w, skua_server *server, unsigned index)
{
    const skua_config *config = &server->config;
    w->server = server;
    w->index = index;
    pool_init(&w->connections, (sizeof(connection) + 15) & ~(size_t)15, config->connections_max);
    block_store_init(&w->blocks, WORKER_BLOCKS_KEPT);
    w->head_limits = (h1_limits){
        .head_octets_max = (uint32_t)config->head_octets_max,
        .target_octets_max = (uint32_t)config->target_octets_max,
        .fields_max = (uint16_t)config->fields_max,
    };
    w->chunk_limits = (chunk_limits){
        .ext_octets_max = config->chunk_ext_octets_max,
        .trailer_octets_max = config->trailer_octets_max,
        .trailers_max = config->fields_max,
    };
}

static void worker_drop_locals(skua_worker *w)
{
    for (unsigned i = 0; i < w->server->local_count; i++) {
        const skua_local_desc *desc = &w->server->locals[i];
        if (w->locals[i] && desc->drop) desc->drop(w, w->locals[i], desc->user);
        w->locals[i] = NULL;
    }
}

static void worker_free_lists(skua_worker *w)
{
    while (w->free_sessions) {
        session *s = w->free_sessions;
        w->free_sessions = s->next;
        memory_free(s);
    }
    while (w->free_requests) {
        skua_request *r = w->free_requests;
        w->free_requests = r->next;
        memory_free(r);
    }
}

__attribute__((cold)) void worker_close(skua_worker *w)
{
    mailbox_end(&w->mail);
    worker_drop_locals(w);
    ticket_give_back(w);
    timers_drop(w);
    io_cancel(&w->loop, &w->watches);
    io_cancel(&w->loop, &w->wake);
    io_loop_close(&w->loop);
    handoff_end(w);
    worker_free_lists(w);
    pool_deinit(&w->connections);
    block_store_deinit(&w->blocks);
}

__attribute__((cold)) skua_status worker_open(skua_worker *w, skua_server *server, unsigned index,
                                              const io_backend *backend)
{
    worker_init(w, server, index);
    w->loop.events = &connection_events;
    w->loop.streams = &w->connections;
    w->loop.owner = w;
    w->loop.evict = worker_lacks_descriptors;
    w->loop.elsewhere = fetch_elsewhere;
    w->loop.send_turn_octets_max = server->config.send_turn_octets_max;
    w->loop.kernel = server->sim_kernel;
    w->disk = (disk_home){
        .loop = &w->loop,
        .disk_threads = server->disk,
        .helper_threads = server->helpers,
        .post = worker_post,
        .fetching_max = server->config.connections_max,
        .inline_work = server->sim_kernel != NULL,
    };
    skua_status status = io_loop_open(&w->loop, backend);
    if (status) return status;
    io_timers_init(&w->loop.timers, w->loop.now_ns, connection_deadline, w);
    w->wake = (io_op){ .code = IO_WAKE, .done = worker_woken, .user = w, .fd = -1 };
    io_submit(&w->loop, &w->wake);
    gate_open(&w->posting);
    status = io_turn(&w->loop, 0); // it can be woken from here on
    if (!status && !w->wake.active) status = SKUA_ENOFILE;
    if (!status && server->config.log != SKUA_LOG_NONE && !(w->lane = log_lane_open(server->log))) {
        status = SKUA_ENOMEM;
    }
    if (status) worker_close(w);
    return status;
}

// ---- Ending ----

static void worker_stop_accepting(skua_worker *w)
{
    for (unsigned i = 0; i < w->listener_count; i++)
        io_cancel(&w->loop, &w->listeners[i]);
    w->listener_count = 0;
    server_close_listeners(w->server, w); // from here on, clients are refused and not left waiting
}

static void worker_abort_connections(skua_worker *w)
{
    uint32_t slots = w->connections.slab_count * POOL_SLAB_ITEMS;
    for (uint32_t slot = 0; slot < slots; slot++) {
        pool_item *item = pool_at(&w->connections, slot);
        if (item->generation & 1) connection_abort((connection *)(void *)item, SKUA_END_ERROR);
    }
}

static void worker_look_at_stop(skua_worker *w)
{
    long long grace = atomic_load(&w->server->shared.grace_ns);
    if (grace < 0) return;
    int64_t end = w->loop.now_ns + grace;
    if (!w->disk.draining || end < w->end_at_ns) w->end_at_ns = end;
    if (!w->disk.draining) {
        w->disk.draining = true;
        worker_stop_accepting(w);
    }
}

// Everything that could still send it a letter, but for skua_post.
static bool worker_is_done(const skua_worker *w)
{
    return w->connections.in_use == 0 && w->disk.offloaded == 0 && w->disk.file_ops == 0 &&
           w->disk.fetching == 0 && w->orphans == 0 && w->blocking == 0 && w->held == 0;
}

// What was posted is delivered; what is posted from there on is refused, or functions that post
// themselves would never let it end.
static bool worker_has_ended(skua_worker *w)
{
    if (!w->disk.draining) return false;
    if (w->failed || w->loop.now_ns >= w->end_at_ns) {
        if (w->connections.in_use) worker_abort_connections(w);
        if (w->blocking) blocking_tell_late(w->server);
    }
    if (!worker_is_done(w)) return false;
    gate_close(&w->posting);
    return gate_is_empty(&w->posting);
}

static int64_t worker_wait_ns(const skua_worker *w, int64_t timeout_ns)
{
    if (w->failed) return timeout_ns == 0 ? 0 : worker_nap_ns;
    if (!w->disk.draining) return timeout_ns;
    int64_t left = w->end_at_ns - w->loop.now_ns;
    if (left < 0) left = w->connections.in_use ? 0 : timeout_ns;
    return timeout_ns < 0 || left < timeout_ns ? left : timeout_ns;
}

bool worker_goes_on(skua_worker *w)
{
    worker_look_at_stop(w);
    return !worker_has_ended(w);
}

// Connections are lost, but whoever has work of this worker's finds it until that has come back.
static void worker_fail(skua_worker *w)
{
    w->failed = true;
    io_abandon(&w->loop);
    worker_abort_connections(w);
    server_break(w->server, "worker %u cannot go on: %s has failed", w->index,
                 w->loop.backend->name);
}

// Nothing wakes it any more.
static void worker_turn_failed(skua_worker *w, int64_t wait_ns)
{
    (void)io_turn(&w->loop, 0);
    mailbox_deliver(&w->mail, w);
    if (wait_ns) nanosleep(&(struct timespec){ .tv_nsec = (long)wait_ns }, NULL);
}

bool worker_turn(skua_worker *w, int64_t timeout_ns)
{
    if (!worker_goes_on(w)) {
        io_flush(&w->loop); // what was closed last
        return false;
    }
    int64_t wait_ns = worker_wait_ns(w, timeout_ns);
    if (w->failed) worker_turn_failed(w, wait_ns);
    else if (io_turn(&w->loop, wait_ns)) worker_fail(w);
    return true;
}

int64_t worker_timeout_ns(const skua_worker *w)
{
    return worker_wait_ns(w, io_wait_ns(&w->loop));
}

void worker_begin(skua_worker *w)
{
    const skua_config *config = worker_config(w);
    w->began = true;
    if (config->on_worker_start) config->on_worker_start(w, config->hook_user);
}

void worker_end(skua_worker *w)
{
    const skua_config *config = worker_config(w);
    if (!w->began) return;
    w->began = false;
    if (config->on_worker_end) config->on_worker_end(w, config->hook_user);
}

// ---- Date ----

void worker_date_renew(skua_worker *w)
{
    int64_t seconds = w->loop.unix_ns / 1000000000;
    memcpy(w->date_line, "Date: ", 6);
    date_write(w->date_line + 6, seconds);
    memcpy(w->date_line + 6 + DATE_OCTETS, "\r\n", 2);
    w->date_from_ns = seconds * 1000000000;
}

// ---- Public ----

unsigned skua_worker_index(const skua_worker *w)
{
    return w->index;
}

skua_server *skua_worker_server(const skua_worker *w)
{
    return w->server;
}

int64_t skua_worker_now_ns(const skua_worker *w)
{
    return w->loop.now_ns;
}

int64_t skua_worker_unix_ns(const skua_worker *w)
{
    return w->loop.unix_ns;
}

void *skua_local(skua_worker *w, unsigned key)
{
    SKUA_ASSERT(key < w->server->local_count);
    if (!w->locals[key]) {
        const skua_local_desc *desc = &w->server->locals[key];
        w->locals[key] = desc->make(w, desc->user);
    }
    return w->locals[key];
}
