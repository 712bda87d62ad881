// SPDX-License-Identifier: MIT
//
// Readiness. A stream joins only when the loop has to wait for it, so that a connection whose
// request is there when it is accepted never costs a registration.

#include "io/readiness.h"

#include "base/assert.h"
#include "io/disk.h"
#include "io/transfer.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// how often a stream is run in a drain before the others have their turn
enum { READY_ROUNDS_MAX = 16 };

// Accepting that was refused for want of descriptors or memory is tried again this often.
static const int64_t readiness_retry_ns = 100000000;

void readiness_clock(io_loop *loop)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    loop->now_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    io_timers_clock(&loop->timers, loop->now_ns);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    loop->unix_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void readiness_discard(io_loop *loop, int fd)
{
    disk_forget(loop, fd);
    (void)close(fd);
}

// ---- Streams ----

static void ready_told(io_loop *loop, io_stream *stream, io_end how)
{
    static const uint32_t told[] = { IO_NEAR_TOLD, IO_FIN_TOLD, IO_RESET_TOLD };
    if (stream->flags & (told[how] | IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    stream->flags |= told[how];
    if (how == IO_END_RESET)
        stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    loop->events->ended(stream, how);
}

static void ready_postpone(io_loop *loop, io_stream *stream)
{
    readiness *state = loop->kernel;
    if (stream->flags & (IO_LATER | IO_PENDING)) return;
    stream->flags |= IO_LATER | IO_PENDING;
    stream->next = state->later;
    state->later = stream;
}

// No memory, or a limit of the kernel's: this one connection pays.
static void ready_join(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    bool joined = state->poller->join(loop, stream);
    if (joined) stream->flags |= IO_REGISTERED;
    if (joined && (stream->flags & IO_UNWRITABLE) && state->poller->join_out) {
        joined = state->poller->join_out(loop, stream);
    }
    if (!joined) ready_told(loop, stream, IO_END_RESET);
}

static void ready_unwritable(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    stream->flags |= IO_UNWRITABLE;
    if (!(stream->flags & IO_REGISTERED) || !state->poller->join_out) return;
    if (!state->poller->join_out(loop, stream)) ready_told(loop, stream, IO_END_RESET);
}

// A failed receive or send that is not for want of octets or room: try again next turn, or dead.
static void ready_failed(io_loop *loop, io_stream *stream)
{
    if (errno == ENOBUFS || errno == ENOMEM) {
        ready_postpone(loop, stream);
    } else if (errno != EINTR) {
        ready_told(loop, stream, IO_END_RESET);
    } else {
        io_push(loop, stream);
    }
}

static bool ready_would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK;
}

// A short read means that the kernel has no more, unless FIN is behind it: data and FIN are one
// event.
static void ready_receive(io_loop *loop, io_stream *stream)
{
    readiness *state = loop->kernel;
    for (int i = 0; (stream->flags & IO_WANT_RECV) && (stream->flags & IO_READABLE); i++) {
        if (i == IO_TURN_READS_MAX) {
            ready_postpone(loop, stream);
            return;
        }
        ssize_t n = recv(stream->fd, state->buffer, sizeof state->buffer, 0);
        if (n > 0) {
            bool brim = (size_t)n == sizeof state->buffer;
            if (!brim && !(stream->flags & IO_FIN_SEEN)) stream->flags &= ~(uint32_t)IO_READABLE;
            loop->events->received(stream, state->buffer, (size_t)n);
            // What was answered goes out before more is read.
            if (stream->flags & IO_PENDING) return;
        } else if (n == 0) {
            stream->flags &= ~(uint32_t)(IO_READABLE | IO_WANT_RECV);
            ready_told(loop, stream, IO_END_FIN);
        } else if (ready_would_block()) {
            stream->flags &= ~(uint32_t)IO_READABLE;
            return;
        } else {
            ready_failed(loop, stream);
            return;
        }
    }
}

static void ready_send(io_loop *loop, io_stream *stream)
{
    uint64_t total = 0;
    out_queue *out = stream->out;
    while (out->octets && !(stream->flags & IO_UNWRITABLE)) {
        if (total >= loop->send_turn_octets_max) {
            ready_postpone(loop, stream);
            break;
        }
        uint64_t asked;
        uint64_t most = loop->send_turn_octets_max - total;
        bool is_file = out_segment_at(out, 0)->kind == OUT_FILE;
        if (is_file && (most = disk_ready(loop, stream, most)) == 0) break;
        ssize_t n = is_file ? transfer_send_file(stream->fd, out, most, &asked)
                            : transfer_send(stream->fd, out, stream->flags & IO_LAST, &asked);
        if (n < 0) {
            if (ready_would_block()) ready_unwritable(loop, stream);
            else ready_failed(loop, stream);
            break;
        }
        if (n == 0) {
            stream->flags &= ~(uint32_t)IO_WANT_SEND;
            loop->events->send_failed(stream);
            return;
        }
        out_pop(out, (uint64_t)n);
        total += (uint64_t)n;
        // A short send of memory means a full socket. One of a file may also be its end: ask again.
        if ((uint64_t)n < asked && !is_file) ready_unwritable(loop, stream);
    }
    if (stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    if (out->octets == 0) stream->flags &= ~(uint32_t)IO_WANT_SEND;
    if (total) loop->events->sent(stream, total);
}

static void ready_retry_accepts(io_loop *loop);

static void ready_finish(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    if ((stream->flags & IO_REGISTERED) && state->poller->leave) state->poller->leave(loop, stream);
    disk_abandon(loop, stream);
    if (stream->flags & IO_RESETS) transfer_close_resets(stream->fd);
    (void)close(stream->fd);
    stream->fd = -1;
    loop->events->closed(stream);
    if (state->paused) ready_retry_accepts(loop);
}

// Does what the stream's flags ask for and the kernel may grant.
static void ready_run(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        ready_finish(loop, stream);
        return;
    }
    if (stream->flags & IO_KICK) {
        stream->flags &= ~(uint32_t)IO_KICK;
        loop->events->kicked(stream);
    }
    if ((stream->flags & (IO_WANT_SEND | IO_UNWRITABLE | IO_COLD)) == IO_WANT_SEND)
        ready_send(loop, stream);
    if ((stream->flags & (IO_WANT_SHUTDOWN | IO_WANT_SEND)) == IO_WANT_SHUTDOWN) {
        stream->flags &= ~(uint32_t)IO_WANT_SHUTDOWN;
        (void)shutdown(stream->fd, SHUT_WR);
    }
    if (!(stream->flags & IO_PENDING)) ready_receive(loop, stream);
    if (!(stream->flags & (IO_REGISTERED | IO_PENDING | IO_RESET_TOLD))) ready_join(loop, stream);
}

static io_stream *ready_take_pending(io_loop *loop)
{
    io_stream *streams = loop->pending;
    loop->pending = NULL;
    loop->pending_tail = &loop->pending;
    return streams;
}

// Running a stream may make it pending again: it has sent something and its source has more. A peer
// that takes all of it at once would keep the worker for itself, so after some rounds the rest
// waits for the next turn.
static void ready_drain_streams(io_loop *loop)
{
    for (int round = 0; loop->pending; round++) {
        io_stream *next, *stream = ready_take_pending(loop);
        for (; stream; stream = next) {
            next = stream->next;
            stream->flags &= ~(uint32_t)IO_PENDING;
            if (round < READY_ROUNDS_MAX) ready_run(loop, stream);
            else ready_postpone(loop, stream);
        }
    }
}

static void ready_stream_event(io_loop *loop, io_stream *stream, unsigned ready)
{
    if (ready & READY_END) stream->flags |= IO_FIN_SEEN;
    if (ready & (READY_IN | READY_END)) stream->flags |= IO_READABLE;
    if (ready & READY_OUT) stream->flags &= ~(uint32_t)IO_UNWRITABLE;
    if (stream->flags & IO_PENDING) return;
    if (!(stream->flags & IO_WANT_RECV)) {
        if (ready & READY_ERROR) ready_told(loop, stream, IO_END_RESET);
        else if (ready & READY_END) ready_told(loop, stream, IO_END_NEAR);
        if (stream->flags & IO_PENDING) return;
    }
    ready_run(loop, stream);
}

// ---- Operations ----

static skua_status ready_watch(io_loop *loop, io_op *op)
{
    readiness *state = loop->kernel;
    for (uint32_t i = 0; i < READINESS_OPS_MAX; i++) {
        if (state->ops[i]) continue;
        op->slot = i;
        skua_status status = state->poller->watch(loop, op);
        if (status) return status;
        state->ops[i] = op;
        state->refused[i] = false;
        return SKUA_OK;
    }
    return SKUA_ELIMIT;
}

static void ready_forget(io_loop *loop, io_op *op)
{
    readiness *state = loop->kernel;
    if (op->slot >= READINESS_OPS_MAX || state->ops[op->slot] != op) return;
    state->ops[op->slot] = NULL;
    state->poller->forget(loop, op);
}

// Out of descriptors or memory. Level-triggered, the listener would spin: it is muted until the
// retry.
static void ready_mute(io_loop *loop, io_op *op)
{
    readiness *state = loop->kernel;
    state->paused = true;
    state->retry_ns = loop->now_ns + readiness_retry_ns;
    if (state->ops[op->slot] != op || state->refused[op->slot]) return;
    state->refused[op->slot] = true;
    state->poller->mute(loop, op, true);
}

static bool ready_accept_one(io_loop *loop, io_op *op)
{
    int fd = transfer_accept(op->fd, &op->peer);
    if (fd >= 0) {
        op->done(op, fd);
        ready_drain_streams(loop);
        return op->active;
    }
    switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        if (loop->evict && loop->evict(loop)) return true;
        ready_mute(loop, op);
        return false;
    case EAGAIN: return false;
    default: return true; // this connection died in the queue; others wait behind it
    }
}

static void ready_accept(io_loop *loop, io_op *op)
{
    for (int i = 0; i < IO_TURN_ACCEPTS_MAX; i++) {
        if (!ready_accept_one(loop, op)) return;
    }
}

static void ready_retry_accepts(io_loop *loop)
{
    readiness *state = loop->kernel;
    state->paused = false;
    for (uint32_t i = 0; i < READINESS_OPS_MAX; i++) {
        if (!state->ops[i] || !state->refused[i]) continue;
        state->refused[i] = false;
        state->poller->mute(loop, state->ops[i], false);
    }
}

static void ready_op_failed(io_op *op, skua_status status)
{
    op->active = false;
    op->done(op, -(int64_t)status);
}

static void ready_op_start(io_loop *loop, io_op *op)
{
    skua_status status = SKUA_OK;
    if (!op->active) return; // cancelled before it began
    switch ((io_code)op->code) {
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ: disk_start(loop, op); return;
    case IO_WAKE:
    case IO_ACCEPT:
    case IO_POLL: status = ready_watch(loop, op); break;
    case IO_FILE_LOAD:
    case IO_CONNECT:
    case IO_RECVMSG:
    case IO_SENDMSG: status = SKUA_EUNSUPPORTED; break;
    }
    if (status) ready_op_failed(op, status);
}

static void ready_drain(io_loop *loop)
{
    do {
        ready_drain_streams(loop);
        io_op *op = loop->pending_ops;
        if (!op) return;
        loop->pending_ops = op->next;
        if (!loop->pending_ops) loop->pending_ops_tail = &loop->pending_ops;
        ready_op_start(loop, op);
    } while (loop->pending || loop->pending_ops);
}

static void ready_op_event(io_loop *loop, io_op *op)
{
    const readiness *state = loop->kernel;
    switch ((io_code)op->code) {
    case IO_ACCEPT: ready_accept(loop, op); return;
    case IO_WAKE:
        if (state->poller->woken(op)) op->done(op, 0);
        return;
    case IO_POLL:
        ready_forget(loop, op);
        op->active = false;
        op->done(op, 0);
        return;
    case IO_CONNECT:
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ:
    case IO_FILE_LOAD:
    case IO_RECVMSG:
    case IO_SENDMSG: return;
    }
}

void readiness_cancel(io_loop *loop, io_op *op)
{
    if (op->code == IO_ACCEPT) { // what the kernel has accepted already is delivered
        op->active = true;
        ready_accept(loop, op);
        op->active = false;
    }
    ready_forget(loop, op);
}

// ---- The turn ----

static void ready_take_later(io_loop *loop)
{
    readiness *state = loop->kernel;
    io_stream *stream = state->later;
    state->later = NULL;
    while (stream) {
        io_stream *next = stream->next;
        stream->flags &= ~(uint32_t)(IO_LATER | IO_PENDING);
        io_push(loop, stream);
        stream = next;
    }
}

void readiness_begin(io_loop *loop)
{
    ready_take_later(loop);
    ready_drain(loop);
}

int64_t readiness_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    const readiness *state = loop->kernel;
    if (state->later) return 0;
    if (!state->paused) return timeout_ns;
    int64_t retry = state->retry_ns - loop->now_ns;
    if (retry < 0) retry = 0;
    return timeout_ns < 0 || retry < timeout_ns ? retry : timeout_ns;
}

void readiness_tell_poll(io_loop *loop, uint64_t key)
{
    readiness *state = loop->kernel;
    if (key >= READINESS_OPS_MAX || !state->ops[key] || state->ops[key]->code != IO_POLL) return;
    ready_op_event(loop, state->ops[key]);
}

void readiness_tell(io_loop *loop, uint64_t key, unsigned ready)
{
    readiness *state = loop->kernel;
    uint32_t generation = (uint32_t)(key >> 32);
    uint32_t slot = (uint32_t)key;
    if (generation == 0) {
        SKUA_ASSERT(slot < READINESS_OPS_MAX);
        io_op *op = state->ops[slot];
        if (op && op->code != IO_POLL) ready_op_event(loop, op);
    } else {
        io_stream *stream = pool_find(loop->streams, slot, generation);
        if (stream) ready_stream_event(loop, stream, ready);
    }
    ready_drain(loop);
}

void readiness_refuse(io_loop *loop, uint64_t key)
{
    readiness *state = loop->kernel;
    uint32_t generation = (uint32_t)(key >> 32);
    uint32_t slot = (uint32_t)key;
    if (generation == 0) {
        io_op *op = state->ops[slot];
        state->ops[slot] = NULL;
        if (op) ready_op_failed(op, SKUA_ENOMEM);
    } else {
        io_stream *stream = pool_find(loop->streams, slot, generation);
        if (stream) ready_told(loop, stream, IO_END_RESET);
    }
    ready_drain(loop);
}

void readiness_end(io_loop *loop)
{
    const readiness *state = loop->kernel;
    if (state->paused && loop->now_ns >= state->retry_ns) ready_retry_accepts(loop);
}
