// SPDX-License-Identifier: MIT
//
// The simulated backend: runs what a loop has submitted on the simulated kernel, one completion at
// a time, in an order that chance decides. Within a stream the order is that of the epoll backend:
// kick, send, shutdown, receive. A turn that did anything does not wait; one that waits jumps to
// when something will be due.

#include "io/sim_kernel.h"

#include "base/assert.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/sim_net.h"
#include "io/turn.h"

#include <poll.h>
#include <unistd.h>

enum { SIM_TURN_RUNS = 24, SIM_TURN_TICK_NS = 20000 };

static const int64_t sim_accept_retry_ns = 100000000;

static void sim_clock(io_loop *loop)
{
    const sim_kernel *kernel = loop->kernel;
    loop->now_ns = kernel->now_ns;
    loop->unix_ns = kernel->now_ns + kernel->unix_offset_ns;
    io_timers_clock(&loop->timers, loop->now_ns);
}

static int64_t sim_clock_ns(const io_loop *loop)
{
    return sim_now(loop->kernel);
}

static skua_status sim_open(io_loop *loop)
{
    SKUA_ASSERT(loop->kernel);
    sim_clock(loop);
    return SKUA_OK;
}

static void sim_close_loop(io_loop *loop)
{
    sim_kernel *kernel = loop->kernel;
    size_t kept = 0;
    for (size_t i = 0; i < kernel->work_count; i++) {
        if (kernel->works[i].op->loop != loop) kernel->works[kept++] = kernel->works[i];
    }
    kernel->work_count = kept;
    loop->kernel = NULL;
}

static void sim_discard(io_loop *loop, int fd)
{
    sim_kernel *kernel = loop->kernel;
    sim_client *client = sim_find(kernel, fd);
    if (client) {
        sim_close(client);
        return;
    }
    SKUA_ASSERT(kernel->files_open > 0);
    kernel->files_open--;
    (void)close(fd);
}

// ---- When a stream has something to do; INT64_MAX: never as things are ----

static bool sim_is_full(const sim_client *client)
{
    return client->wire.len >= client->kernel->config.send_buffer_octets;
}

static bool sim_can_send(const sim_client *client)
{
    const io_stream *stream = client->stream;
    if (!(stream->flags & IO_WANT_SEND) || client->turn_sent >= client->loop->send_turn_octets_max)
        return false;
    return client->dead || stream->out->octets == 0 || !client->full_is_told ||
           !sim_is_full(client);
}

static bool sim_can_shutdown(const sim_client *client)
{
    return (client->stream->flags & (IO_WANT_SHUTDOWN | IO_WANT_SEND)) == IO_WANT_SHUTDOWN;
}

static bool sim_can_receive(const sim_client *client)
{
    uint32_t flags = client->stream->flags;
    if (!(flags & IO_WANT_RECV) || client->turn_reads >= IO_TURN_READS_MAX) return false;
    return client->inbox.len || client->dead || (client->fin_arrived && !(flags & IO_FIN_TOLD));
}

// Octets or an end have arrived, whether they are wanted or not.
static bool sim_has_input(const io_loop *loop, const io_stream *stream)
{
    const sim_client *client = sim_find(loop->kernel, stream->fd);
    if (!client || (stream->flags & (IO_FIN_TOLD | IO_RESET_TOLD))) return false;
    return client->inbox.len || client->dead || client->fin_arrived;
}

// An end of the peer can be told while receiving is stopped.
static bool sim_can_tell(const sim_client *client)
{
    uint32_t flags = client->stream->flags;
    if (flags & IO_RESET_TOLD) return false;
    if (client->unwatched) return true;
    if (flags & IO_WANT_RECV) return false;
    return client->dead || (client->fin_arrived && !(flags & (IO_FIN_TOLD | IO_NEAR_TOLD)));
}

static int64_t sim_stream_ns(const sim_client *client)
{
    uint32_t flags = client->stream->flags;
    if (flags & IO_WANT_CLOSE) return client->run_ns;
    if ((flags & IO_KICK) && !client->turn_kicked) return 0;
    if (flags & IO_CONNECTS) return client->unanswered ? INT64_MAX : client->run_ns;
    if (client->turn_over) return INT64_MAX;
    int64_t ns = INT64_MAX;
    if (sim_can_shutdown(client) || sim_can_tell(client)) ns = 0;
    if (sim_can_send(client) && client->send_ns < ns) ns = client->send_ns;
    if (sim_can_receive(client) && client->recv_ns < ns) ns = client->recv_ns;
    return ns > client->run_ns ? ns : client->run_ns;
}

// ---- Streams ----

static void sim_told(sim_client *client, io_end how)
{
    static const uint32_t told[] = { IO_NEAR_TOLD, IO_FIN_TOLD, IO_RESET_TOLD };
    io_stream *stream = client->stream;
    stream->flags |= told[how];
    if (how == IO_END_FIN) stream->flags &= ~(uint32_t)(IO_READABLE | IO_WANT_RECV);
    if (how == IO_END_RESET)
        stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    sim_note(client->kernel, "told", client->id, how);
    io_events_of(client->loop, stream)->ended(stream, how);
}

// The octets lie in memory of their own, so that reading past them or keeping them is caught.
static void sim_receive_octets(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    io_stream *stream = client->stream;
    size_t len = client->inbox.len < IO_RECV_OCTETS ? client->inbox.len : IO_RECV_OCTETS;
    len = sim_piece(kernel, SIM_SHORT_RECV, len);
    char *octets = memory_alloc(len);
    if (!octets) {
        client->turn_over = true;
        return;
    }
    memcpy(octets, client->inbox.octets + client->inbox.start, len);
    sim_pipe_pop(&client->inbox, len);
    if (!client->inbox.len && !client->fin_arrived && !client->dead)
        stream->flags &= ~(uint32_t)IO_READABLE;
    client->turn_reads++;
    sim_note(kernel, "received", client->id, len);
    io_events_of(client->loop, stream)->received(stream, octets, len);
    memory_free(octets);
}

static void sim_receive(sim_client *client)
{
    if (client->inbox.len && sim_chance(client->kernel, SIM_RECV_AGAIN)) {
        client->recv_ns = sim_soon(client->kernel);
    } else if (client->inbox.len) {
        sim_receive_octets(client);
    } else {
        sim_told(client, client->dead ? IO_END_RESET : IO_END_FIN);
    }
}

// The memory segments at the front, in one call as it were; most of them at most.
static uint64_t sim_send_memory(sim_client *client, size_t most)
{
    out_queue *out = client->stream->out;
    uint64_t sent = 0;
    for (unsigned i = 0; i < out->count && sent < most; i++) {
        const out_segment *segment = out_segment_at(out, i);
        if (segment->kind == OUT_FILE) break;
        uint64_t len = segment->len < most - sent ? segment->len : most - sent;
        if (!sim_put(client, segment->ptr, (size_t)len)) break;
        sent += len;
    }
    return sent;
}

static uint64_t sim_send_file(sim_client *client, size_t most)
{
    sim_kernel *kernel = client->kernel;
    const out_segment *segment = out_segment_at(client->stream->out, 0);
    char octets[IO_RECV_OCTETS];
    if (sim_chance(kernel, SIM_FILE_SHRINKS) || sim_chance(kernel, SIM_READ_FAILS)) return 0;
    if (most > segment->len) most = (size_t)segment->len;
    if (most > sizeof octets) most = sizeof octets;
    ssize_t n = pread(segment->file, octets, most, (off_t)segment->offset);
    if (n <= 0 || !sim_put(client, octets, (size_t)n)) return 0;
    return (uint64_t)n;
}

static size_t sim_send_most(sim_client *client)
{
    uint64_t most = client->stream->out->octets;
    uint64_t room = client->kernel->config.send_buffer_octets - client->wire.len;
    uint64_t share = client->loop->send_turn_octets_max - client->turn_sent;
    if (most > room) most = room;
    if (most > share) most = share;
    return sim_piece(client->kernel, SIM_SHORT_SEND, (size_t)most);
}

static void sim_sent(sim_client *client, uint64_t n)
{
    io_stream *stream = client->stream;
    client->turn_sent += n;
    sim_note(client->kernel, "sent", client->id, n);
    out_pop(stream->out, n);
    if (stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE)) return; // a release may have closed
    if (stream->out->octets == 0) stream->flags &= ~(uint32_t)IO_WANT_SEND;
    io_events_of(client->loop, stream)->sent(stream, n);
}

static void sim_send_octets(sim_client *client)
{
    io_stream *stream = client->stream;
    size_t most = sim_send_most(client);
    bool is_file = out_segment_at(stream->out, 0)->kind == OUT_FILE;
    uint64_t n = is_file ? sim_send_file(client, most) : sim_send_memory(client, most);
    if (n) {
        sim_sent(client, n);
    } else if (is_file) {
        stream->flags &= ~(uint32_t)IO_WANT_SEND;
        out_segment_at(stream->out, 0)->failed = true;
        sim_note(client->kernel, "cut", client->id, 0);
        io_events_of(client->loop, stream)->send_failed(stream);
    }
}

// Once, as a real socket says it once.
static void sim_tell_full(sim_client *client)
{
    client->full_is_told = true;
    io_events_of(client->loop, client->stream)->sent(client->stream, 0);
}

static void sim_send(sim_client *client)
{
    io_stream *stream = client->stream;
    if (client->dead) {
        sim_told(client, IO_END_RESET);
    } else if (stream->out->octets == 0) {
        stream->flags &= ~(uint32_t)IO_WANT_SEND;
    } else if (sim_chance(client->kernel, SIM_SEND_AGAIN)) {
        client->send_ns = sim_soon(client->kernel);
    } else if (sim_is_full(client)) {
        sim_tell_full(client);
    } else {
        client->full_is_told = false;
        sim_send_octets(client);
    }
}

static void sim_shutdown(sim_client *client)
{
    client->stream->flags &= ~(uint32_t)IO_WANT_SHUTDOWN;
    client->fin_sent = true;
    sim_note(client->kernel, "shutdown", client->id, 0);
}

static void sim_finish(sim_client *client)
{
    io_loop *loop = client->loop;
    io_stream *stream = client->stream;
    if (stream->flags & IO_RESETS) sim_break(client, false);
    sim_close(client);
    stream->fd = -1;
    io_events_of(loop, stream)->closed(stream);
}

static void sim_kick(sim_client *client)
{
    client->turn_kicked = true;
    client->stream->flags &= ~(uint32_t)IO_KICK;
    sim_note(client->kernel, "kicked", client->id, 0);
    io_events_of(client->loop, client->stream)->kicked(client->stream);
}

static void sim_connected(sim_client *client)
{
    io_stream *stream = client->stream;
    bool refused = client->dead || client->far < 0 || client->unwatched ||
                   sim_chance(client->kernel, SIM_CONNECT_REFUSED);
    if (refused) sim_break(client, true);
    stream->flags &= ~(uint32_t)IO_CONNECTS;
    if (refused) stream->flags |= IO_RESET_TOLD;
    sim_note(client->kernel, "connected", client->id, refused);
    io_events_of(client->loop, stream)->connected(stream, refused ? SKUA_ECLOSED : SKUA_OK);
}

// Whether something came between the stream and its completion.
static bool sim_is_hindered(sim_client *client)
{
    sim_kernel *kernel = client->kernel;
    if (sim_chance(kernel, SIM_DELAY)) {
        client->run_ns = sim_soon(kernel);
        return true;
    }
    if (client->stream->flags & IO_WANT_CLOSE) return false;
    if (!client->dead && sim_chance(kernel, SIM_RESET)) {
        sim_break(client, true);
        return true;
    }
    if (!sim_chance(kernel, SIM_NO_BUFFERS)) return false;
    client->run_ns = sim_soon(kernel);
    return true;
}

// One completion of a stream that is due.
static void sim_run_stream(sim_client *client)
{
    int64_t now = client->kernel->now_ns;
    uint32_t flags = client->stream->flags;
    bool closes = flags & IO_WANT_CLOSE;
    if ((flags & IO_KICK) && !client->turn_kicked && !closes) {
        sim_kick(client);
        return;
    }
    if (sim_is_hindered(client)) return;
    if (closes) sim_finish(client);
    else if (flags & IO_CONNECTS) sim_connected(client);
    else if (client->unwatched && !(flags & IO_RESET_TOLD)) sim_told(client, IO_END_RESET);
    else if (sim_can_send(client) && client->send_ns <= now) sim_send(client);
    else if (sim_can_shutdown(client)) sim_shutdown(client);
    else if (sim_can_receive(client) && client->recv_ns <= now) sim_receive(client);
    else if (sim_can_tell(client)) sim_told(client, client->dead ? IO_END_RESET : IO_END_NEAR);
}

static bool sim_has_descriptors(const sim_kernel *kernel)
{
    return kernel->sockets_open + kernel->files_open < kernel->config.descriptors_max;
}

static void sim_connect_stream(io_loop *loop, io_stream *stream, const socket_address *to)
{
    sim_kernel *kernel = loop->kernel;
    bool refused = !sim_has_descriptors(kernel) || sim_chance(kernel, SIM_CONNECT_NO_FILE);
    sim_client *client = refused ? NULL : sim_connect_out(kernel, to);
    stream->fd = refused ? -SKUA_ENOFILE : client ? SIM_FD_FIRST + (int)client->id : -SKUA_ENOMEM;
    if (!client) return;
    client->stage = SIM_ACCEPTED;
    client->unanswered = sim_chance(kernel, SIM_CONNECT_UNANSWERED);
    kernel->sockets_open++;
}

// A stream that got no socket.
static void sim_run_nothing(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        io_events_of(loop, stream)->closed(stream);
        return;
    }
    if (stream->flags & IO_KICK) {
        stream->flags &= ~(uint32_t)IO_KICK;
        io_events_of(loop, stream)->kicked(stream);
    }
    if (!(stream->flags & IO_CONNECTS)) return;
    stream->flags = (stream->flags & ~(uint32_t)IO_CONNECTS) | IO_RESET_TOLD;
    io_events_of(loop, stream)->connected(stream, (skua_status)-stream->fd);
}

static void sim_bind(io_loop *loop, io_stream *stream)
{
    sim_client *client = sim_find(loop->kernel, stream->fd);
    SKUA_ASSERT(client);
    if (client->stage == SIM_BOUND) {
        SKUA_ASSERT(client->stream == stream);
        return;
    }
    SKUA_ASSERT(client->stage == SIM_ACCEPTED);
    client->stage = SIM_BOUND;
    client->loop = loop;
    client->stream = stream;
    client->unwatched = sim_chance(client->kernel, SIM_REGISTER_NO_MEMORY);
    if (client->unwatched) client->victim = true;
}

static void sim_take_streams(io_loop *loop)
{
    while (loop->pending) {
        io_stream *stream = loop->pending;
        loop->pending = stream->next;
        if (!loop->pending) loop->pending_tail = &loop->pending;
        stream->flags &= ~(uint32_t)IO_PENDING;
        if (stream->fd < 0) sim_run_nothing(loop, stream);
        else sim_bind(loop, stream);
    }
}

// ---- Operations ----

static void sim_op_done(io_op *op, int64_t result)
{
    sim_kernel *kernel = op->loop->kernel;
    op->active = false;
    sim_note(kernel, "op", op->code, (uint64_t)(result < 0 ? result : 0));
    op->done(op, result);
}

static void sim_forget_work(sim_kernel *kernel, size_t i)
{
    kernel->work_count--;
    memmove(&kernel->works[i], &kernel->works[i + 1], (kernel->work_count - i) * sizeof(sim_work));
}

static skua_status sim_add_work(sim_kernel *kernel, io_op *op)
{
    if (kernel->work_count == kernel->work_room) {
        size_t room = kernel->work_room ? 2 * kernel->work_room : 16;
        sim_work *works = memory_resize(kernel->works, room * sizeof *works);
        if (!works) return SKUA_ENOMEM;
        kernel->works = works;
        kernel->work_room = room;
    }
    kernel->works[kernel->work_count++] = (sim_work){ .op = op, .due_ns = sim_delayed(kernel) };
    return SKUA_OK;
}

static skua_status sim_start(sim_kernel *kernel, io_op *op)
{
    switch ((io_code)op->code) {
    case IO_ACCEPT:
    case IO_POLL:
    case IO_WAKE:
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ: return sim_add_work(kernel, op);
    case IO_FILE_LOAD:
    case IO_RECVMSG:
    case IO_SENDMSG: break;
    }
    return SKUA_EUNSUPPORTED;
}

static void sim_take_ops(io_loop *loop)
{
    while (loop->pending_ops) {
        io_op *op = loop->pending_ops;
        loop->pending_ops = op->next;
        if (!loop->pending_ops) loop->pending_ops_tail = &loop->pending_ops;
        if (!op->active) continue; // cancelled before it began
        skua_status status = sim_start(loop->kernel, op);
        if (status) sim_op_done(op, -(int64_t)status);
    }
}

static void sim_wake(io_op *op)
{
    sim_kernel *kernel = op->loop->kernel;
    kernel->wakes++;
}

static int64_t sim_accept_ns(sim_kernel *kernel, const io_op *op)
{
    const sim_listener *listener = sim_find_listener(kernel, op->fd);
    SKUA_ASSERT(listener);
    if (listener->turn_accepts >= IO_TURN_ACCEPTS_MAX) return INT64_MAX;
    int64_t ns = INT64_MAX;
    for (size_t i = 0; i < kernel->live_count; i++) {
        const sim_client *client = kernel->live[i];
        if (client->stage != SIM_QUEUED || client->listener != op->fd) continue;
        if (client->run_ns < ns) ns = client->run_ns;
    }
    return listener->paused && listener->retry_ns > ns ? listener->retry_ns : ns;
}

static int64_t sim_poll_ns(sim_kernel *kernel, const sim_work *work)
{
    const sim_client *client = sim_find(kernel, work->op->fd);
    if (!client) return INT64_MAX; // a real one: sim_poll_descriptors sees to it
    bool readable = client->inbox.len || client->fin_arrived || client->dead;
    return readable ? work->due_ns : INT64_MAX;
}

static int64_t sim_work_ns(sim_kernel *kernel, const sim_work *work)
{
    switch ((io_code)work->op->code) {
    case IO_ACCEPT: return sim_accept_ns(kernel, work->op);
    case IO_POLL: return sim_poll_ns(kernel, work);
    case IO_WAKE: return work->wakes_seen == kernel->wakes ? INT64_MAX : 0;
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ: return work->due_ns;
    case IO_FILE_LOAD:
    case IO_RECVMSG:
    case IO_SENDMSG: break;
    }
    return INT64_MAX;
}

static bool sim_accept_is_refused(sim_kernel *kernel)
{
    return !sim_has_descriptors(kernel) || sim_chance(kernel, SIM_ACCEPT_NO_FILE) ||
           sim_chance(kernel, SIM_ACCEPT_NO_MEMORY);
}

// Addresses for documentation (RFC 5737), so that nobody takes them for real ones.
static io_address sim_peer(const sim_client *client)
{
    return (io_address){ .octets = { 192, 0, 2, (uint8_t)(1 + client->id % 250) },
                         .port = (uint16_t)(32768 + client->id % 28000),
                         .family = 4 };
}

static void sim_accept(io_loop *loop, io_op *op)
{
    sim_kernel *kernel = loop->kernel;
    sim_listener *listener = sim_find_listener(kernel, op->fd);
    SKUA_ASSERT(listener);
    listener->paused = false;
    listener->turn_accepts++;
    if (sim_accept_is_refused(kernel)) {
        sim_note(kernel, "refused", op->code, 0);
        if (loop->evict && loop->evict(loop)) return;
        listener->paused = true;
        listener->retry_ns = kernel->now_ns + sim_accept_retry_ns;
        return;
    }
    sim_client *client = sim_queued(kernel, op->fd);
    SKUA_ASSERT(client);
    if (sim_chance(kernel, SIM_ACCEPT_ABORTED)) {
        sim_break(client, true);
        client->stage = SIM_CLOSED;
        return;
    }
    client->stage = SIM_ACCEPTED;
    kernel->sockets_open++;
    op->peer = sim_peer(client);
    sim_note(kernel, "accept", client->id, 0);
    op->done(op, SIM_FD_FIRST + (int64_t)client->id);
}

// Connections that the kernel has accepted already are delivered, as far as there are descriptors
// for them.
static void sim_accept_rest(io_loop *loop, io_op *op)
{
    sim_kernel *kernel = loop->kernel;
    const sim_listener *listener = sim_find_listener(kernel, op->fd);
    op->active = true;
    for (int i = 0; i < IO_TURN_ACCEPTS_MAX && sim_queued(kernel, op->fd); i++) {
        sim_accept(loop, op);
        if (listener->paused) break;
    }
    op->active = false;
}

static void sim_cancel(io_loop *loop, io_op *op)
{
    sim_kernel *kernel = loop->kernel;
    for (size_t i = 0; i < kernel->work_count; i++) {
        if (kernel->works[i].op != op) continue;
        sim_forget_work(kernel, i);
        if (op->code == IO_ACCEPT) sim_accept_rest(loop, op);
        return;
    }
}

static int64_t sim_file_open(sim_kernel *kernel, io_op *op, bool stat_only)
{
    if (sim_chance(kernel, SIM_OPEN_NO_MEMORY)) return -(int64_t)SKUA_ENOMEM;
    if (!stat_only && (!sim_has_descriptors(kernel) || sim_chance(kernel, SIM_OPEN_NO_FILE))) {
        return -(int64_t)SKUA_ENOFILE;
    }
    int fd = 0; // looking opens nothing, and results below 0 are errors
    skua_status status = file_open_beneath((file_root){ op->fd, op->links }, op->path.ptr,
                                           stat_only, &fd, &op->info);
    if (status) return -(int64_t)status;
    if (!stat_only) kernel->files_open++;
    return fd;
}

static int64_t sim_file_read(sim_kernel *kernel, const io_op *op)
{
    if (sim_chance(kernel, SIM_READ_FAILS)) return -(int64_t)SKUA_EIO;
    size_t length = sim_piece(kernel, SIM_SHORT_READ, (size_t)op->length);
    ssize_t n = pread(op->fd, op->buffer, length, (off_t)op->offset);
    return n >= 0 ? n : -(int64_t)SKUA_EIO;
}

static int64_t sim_result(sim_kernel *kernel, io_op *op)
{
    switch ((io_code)op->code) {
    case IO_FILE_OPEN: return sim_file_open(kernel, op, false);
    case IO_FILE_STAT: return sim_file_open(kernel, op, true);
    case IO_FILE_READ: return sim_file_read(kernel, op);
    case IO_ACCEPT:
    case IO_WAKE:
    case IO_POLL:
    case IO_FILE_LOAD:
    case IO_RECVMSG:
    case IO_SENDMSG: break;
    }
    return 0;
}

static void sim_run_work(io_loop *loop, size_t i)
{
    sim_kernel *kernel = loop->kernel;
    io_op *op = kernel->works[i].op;
    if (op->code == IO_ACCEPT) {
        sim_accept(loop, op);
    } else if (op->code == IO_WAKE) {
        kernel->works[i].wakes_seen = kernel->wakes;
        op->done(op, 0);
    } else {
        SKUA_ASSERT(!op->kept); // only real descriptors are polled so
        sim_forget_work(kernel, i);
        sim_op_done(op, sim_result(kernel, op));
    }
}

// ---- The turn ----

// Streams and operations are numbered together, so that one throw of the dice picks among both.
static int64_t sim_item_ns(const io_loop *loop, size_t i)
{
    sim_kernel *kernel = loop->kernel;
    if (i >= kernel->live_count) {
        const sim_work *work = &kernel->works[i - kernel->live_count];
        return work->op->loop == loop ? sim_work_ns(kernel, work) : INT64_MAX;
    }
    const sim_client *client = kernel->live[i];
    return client->stage == SIM_BOUND && client->loop == loop ? sim_stream_ns(client) : INT64_MAX;
}

static void sim_run_item(io_loop *loop, size_t i)
{
    sim_kernel *kernel = loop->kernel;
    if (i >= kernel->live_count) sim_run_work(loop, i - kernel->live_count);
    else sim_run_stream(kernel->live[i]);
}

// One of the items that are due, each as likely as the others. False: none is.
static bool sim_choose(const io_loop *loop, size_t *chosen)
{
    sim_kernel *kernel = loop->kernel;
    size_t due = 0;
    for (size_t i = 0; i < kernel->live_count + kernel->work_count; i++) {
        if (sim_item_ns(loop, i) > kernel->now_ns) continue;
        if (sim_below(kernel, ++due) == 0) *chosen = i;
    }
    return due > 0;
}

// A kick comes in this turn or the next.
static bool sim_has_kicks(const io_loop *loop)
{
    const sim_kernel *kernel = loop->kernel;
    for (size_t i = 0; i < kernel->live_count; i++) {
        const sim_client *client = kernel->live[i];
        if (client->stage != SIM_BOUND || client->loop != loop || client->turn_kicked) continue;
        if ((client->stream->flags & (IO_KICK | IO_WANT_CLOSE)) == IO_KICK) return true;
    }
    return false;
}

// Runs a few of the things that are due; those that are left go on in the next turn.
static bool sim_run_some(io_loop *loop)
{
    sim_kernel *kernel = loop->kernel;
    uint64_t runs = 1 + sim_below(kernel, SIM_TURN_RUNS);
    for (uint64_t run = 0;; run++) {
        size_t chosen = 0;
        sim_take_ops(loop);
        sim_take_streams(loop);
        sim_deliver(kernel);
        if (run >= runs && !sim_has_kicks(loop)) return true;
        if (!sim_choose(loop, &chosen)) return run > 0;
        sim_run_item(loop, chosen);
    }
}

static int64_t sim_next_ns(const io_loop *loop)
{
    const sim_kernel *kernel = loop->kernel;
    int64_t next = sim_transit_ns(kernel);
    for (size_t i = 0; i < kernel->live_count + kernel->work_count; i++) {
        int64_t ns = sim_item_ns(loop, i);
        if (ns < next) next = ns;
    }
    return next;
}

static void sim_wait(io_loop *loop, int64_t timeout_ns)
{
    sim_kernel *kernel = loop->kernel;
    int64_t until = sim_next_ns(loop);
    if (timeout_ns >= 0 && timeout_ns < until - kernel->now_ns) until = kernel->now_ns + timeout_ns;
    if (until == INT64_MAX || until <= kernel->now_ns) return;
    kernel->now_ns = until;
    sim_clock(loop);
}

static void sim_end_turn(io_loop *loop)
{
    sim_kernel *kernel = loop->kernel;
    for (size_t i = 0; i < kernel->live_count; i++) {
        sim_client *client = kernel->live[i];
        if (client->loop != loop) continue;
        client->turn_sent = 0;
        client->turn_reads = 0;
        client->turn_kicked = false;
        client->turn_over = false;
    }
    for (int i = 0; i < SIM_LISTENERS_MAX; i++)
        kernel->listeners[i].turn_accepts = 0;
}

// Real descriptors are looked at once per turn, before anything else, so that what they tell is
// known before the requests that came behind it. What happens to them is outside of the simulation.
static void sim_poll_descriptors(io_loop *loop)
{
    sim_kernel *kernel = loop->kernel;
    for (size_t i = 0; i < kernel->work_count;) {
        io_op *op = kernel->works[i].op;
        struct pollfd fd = { .fd = op->fd, .events = POLLIN };
        bool is_real = op->code == IO_POLL && op->loop == loop && op->fd < SIM_FD_FIRST;
        bool is_ready = is_real && poll(&fd, 1, 0) > 0;
        if (is_ready && op->kept) {
            op->done(op, 0);
        } else if (is_ready) {
            sim_forget_work(kernel, i);
            sim_op_done(op, 0);
        }
        if (i < kernel->work_count && kernel->works[i].op == op) i++;
    }
}

static skua_status sim_turn(io_loop *loop, int64_t timeout_ns)
{
    sim_kernel *kernel = loop->kernel;
    kernel->now_ns += 1 + (int64_t)sim_below(kernel, SIM_TURN_TICK_NS);
    sim_clock(loop);
    sim_poll_descriptors(loop);
    if (!sim_run_some(loop)) {
        sim_wait(loop, timeout_ns);
        (void)sim_run_some(loop);
    }
    sim_end_turn(loop);
    return SKUA_OK;
}

static bool sim_is_idle(const sim_client *client)
{
    if (client->stage == SIM_QUEUED || client->stage == SIM_ACCEPTED) return false;
    return client->stage == SIM_CLOSED || sim_stream_ns(client) == INT64_MAX;
}

bool sim_is_quiet(const sim_kernel *kernel)
{
    if (sim_transit_ns(kernel) != INT64_MAX) return false;
    for (size_t i = 0; i < kernel->live_count; i++) {
        if (!sim_is_idle(kernel->live[i])) return false;
    }
    for (size_t i = 0; i < kernel->work_count; i++) {
        const sim_work *work = &kernel->works[i];
        if (work->op->code == IO_WAKE && work->wakes_seen != kernel->wakes) return false;
        if (work->op->code >= IO_FILE_OPEN && work->op->code <= IO_FILE_READ) return false;
    }
    return true;
}

const io_backend io_backend_sim = {
    .name = "sim",
    .open = sim_open,
    .turn = sim_turn,
    .close = sim_close_loop,
    .cancel = sim_cancel,
    .connect = sim_connect_stream,
    .wake = sim_wake,
    .discard = sim_discard,
    .clock_ns = sim_clock_ns,
    .send_at_once = turn_send_at_once,
    .send_now = sim_send_now,
    .has_input = sim_has_input,
};
