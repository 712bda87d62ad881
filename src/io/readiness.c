// SPDX-License-Identifier: MIT
//
// Readiness. A stream joins only when the loop has to wait for it, so that a connection whose
// request is there when it is accepted never costs a registration.

#include "io/readiness.h"

#include "base/assert.h"
#include "io/disk.h"
#include "io/socket.h"
#include "io/transfer.h"

#include <errno.h>
#include <unistd.h>

static const int64_t readiness_look_ns = 10000000000;

// ---- Streams ----

// No memory, or a limit of the kernel's: this one connection pays.
static void ready_join(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    bool joined = state->poller->join(loop, stream);
    if (joined) stream->flags |= IO_REGISTERED;
    if (joined && (stream->flags & IO_UNWRITABLE) && state->poller->join_out) {
        joined = state->poller->join_out(loop, stream);
    }
    if (!joined) turn_told(loop, stream, IO_END_RESET);
}

static void ready_unwritable(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    if (!(stream->flags & IO_REGISTERED)) return; // joining looks at it
    if (!state->poller->join_out(loop, stream)) turn_told(loop, stream, IO_END_RESET);
}

void readiness_open(io_loop *loop, readiness *state, const readiness_poller *poller)
{
    loop->kernel = state;
    turn_init(&state->turn);
    state->poller = poller;
    if (poller->join_out) state->turn.unwritable = ready_unwritable;
    turn_clock(loop);
}

static void ready_retry_accepts(io_loop *loop);

static void ready_finish(io_loop *loop, io_stream *stream)
{
    const readiness *state = loop->kernel;
    if ((stream->flags & IO_REGISTERED) && state->poller->leave) state->poller->leave(loop, stream);
    disk_abandon(loop, stream);
    if (stream->fd >= 0) {
        if (stream->flags & IO_RESETS) transfer_close_resets(stream->fd);
        (void)close(stream->fd);
    }
    stream->fd = -1;
    io_events_of(loop, stream)->closed(stream);
    if (state->turn.paused) ready_retry_accepts(loop);
}

// The peer's end is told while receiving is stopped; else receiving finds it out.
static void ready_tell_end(io_loop *loop, io_stream *stream)
{
    if ((stream->flags & (IO_FIN_SEEN | IO_WANT_RECV)) != IO_FIN_SEEN) return;
    if (stream->flags & IO_BROKEN) turn_told(loop, stream, IO_END_RESET);
    else if (!(stream->flags & IO_FIN_TOLD)) turn_told(loop, stream, IO_END_NEAR);
}

static void ready_move(io_loop *loop, io_stream *stream)
{
    if ((stream->flags & (IO_WANT_SEND | IO_UNWRITABLE | IO_COLD)) == IO_WANT_SEND)
        turn_send(loop, stream);
    turn_shutdown(stream);
    turn_receive(loop, stream);
    ready_tell_end(loop, stream);
}

// Does what the stream's flags ask for and the kernel may grant.
static void ready_run(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        ready_finish(loop, stream);
        return;
    }
    turn_kick(loop, stream);
    if (!(stream->flags & IO_CONNECTS) || turn_connected(loop, stream)) ready_move(loop, stream);
    if (!(stream->flags & (IO_REGISTERED | IO_PENDING | IO_RESET_TOLD))) ready_join(loop, stream);
}

static void ready_run_streams(io_loop *loop)
{
    turn_run_streams(loop, ready_run);
}

// Whether a stream that waits for octets has them, and nothing else is asked of it: what most events tell.
static bool ready_only_receives(const io_stream *stream, unsigned ready)
{
    uint32_t waits = IO_WANT_RECV | IO_REGISTERED;
    uint32_t other = IO_WANT_SEND | IO_WANT_SHUTDOWN | IO_WANT_CLOSE | IO_CONNECTS | IO_PENDING |
                     IO_KICK | IO_UNWRITABLE | IO_FIN_SEEN | IO_RESET_TOLD | IO_BULK;
    return (ready & ~(unsigned)READY_OUT) == READY_IN && (stream->flags & (waits | other)) == waits;
}

static void ready_stream_event(io_loop *loop, io_stream *stream, unsigned ready)
{
    if (ready_only_receives(stream, ready)) {
        stream->flags |= IO_READABLE;
        turn_receive_some(loop, stream);
        return;
    }
    if (ready & READY_END) stream->flags |= IO_FIN_SEEN;
    if (ready & READY_ERROR) stream->flags |= IO_BROKEN;
    if (ready & (READY_IN | READY_END)) stream->flags |= IO_READABLE;
    if (ready & READY_OUT) stream->flags &= ~(uint32_t)IO_UNWRITABLE;
    if (stream->flags & IO_PENDING) return;
    if (!(stream->flags & IO_CONNECTS)) ready_tell_end(loop, stream);
    if (!(stream->flags & IO_PENDING)) ready_run(loop, stream);
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
        if (op->code == IO_POLL) state->polls++;
        if (op->code == IO_ACCEPT) {
            state->listener_ids[i] = socket_listener_id(op->fd);
            if (!state->look_ns) state->look_ns = loop->now_ns + readiness_look_ns;
        }
        return SKUA_OK;
    }
    return SKUA_ELIMIT;
}

static void ready_remove(readiness *state, const io_op *op)
{
    state->ops[op->slot] = NULL;
    if (op->code == IO_POLL) state->polls--;
}

static void ready_forget(io_loop *loop, io_op *op)
{
    readiness *state = loop->kernel;
    if (op->slot >= READINESS_OPS_MAX || state->ops[op->slot] != op) return;
    ready_remove(state, op);
    state->poller->forget(loop, op);
}

// Level-triggered, a listener that is refused would spin: it is muted until the retry.
static void ready_mute(io_loop *loop, io_op *op)
{
    readiness *state = loop->kernel;
    if (state->ops[op->slot] != op || state->refused[op->slot]) return;
    state->refused[op->slot] = true;
    state->poller->mute(loop, op, true);
}

// The listener is no such thing any more.
static void ready_break(io_loop *loop, io_op *op)
{
    ready_forget(loop, op);
    turn_op_failed(op, SKUA_EIO);
}

// Returns whether there may be more.
static bool ready_accept_one(io_loop *loop, io_op *op)
{
    int fd = turn_accept(loop, op);
    if (fd >= 0) {
        op->done(op, fd);
        ready_run_streams(loop);
        return op->active;
    }
    switch (turn_refused(errno)) {
    case TURN_REFUSED_NONE: return false;
    case TURN_REFUSED_ONE: return true;
    case TURN_REFUSED_SCARCE:
        if (!turn_pause(loop)) return true;
        ready_mute(loop, op);
        return false;
    case TURN_REFUSED_BROKEN: ready_break(loop, op); return false;
    }
    return false;
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
    state->turn.paused = false;
    for (uint32_t i = 0; i < READINESS_OPS_MAX; i++) {
        if (!state->ops[i] || !state->refused[i]) continue;
        state->refused[i] = false;
        state->poller->mute(loop, state->ops[i], false);
    }
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
    case IO_RECVMSG:
    case IO_SENDMSG: status = SKUA_EUNSUPPORTED; break;
    }
    if (status) turn_op_failed(op, status);
}

static void ready_drain(io_loop *loop)
{
    while (loop->pending || loop->pending_ops) {
        ready_run_streams(loop);
        io_op *op = turn_take_op(loop);
        if (op) ready_op_start(loop, op);
    }
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
        if (!op->kept) ready_forget(loop, op);
        op->active = op->kept;
        op->done(op, 0);
        return;
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
    if (op->code == IO_ACCEPT) turn_accept_rest(loop, op, ready_run);
    ready_forget(loop, op);
}

// ---- The turn ----

void readiness_begin(io_loop *loop)
{
    turn_resume(loop);
    ready_drain(loop);
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
    if (loop->pending || loop->pending_ops) ready_drain(loop);
}

void readiness_refuse(io_loop *loop, uint64_t key)
{
    readiness *state = loop->kernel;
    uint32_t generation = (uint32_t)(key >> 32);
    uint32_t slot = (uint32_t)key;
    if (generation == 0) {
        io_op *op = state->ops[slot];
        if (op) ready_remove(state, op);
        if (op) turn_op_failed(op, SKUA_ENOMEM);
    } else {
        io_stream *stream = pool_find(loop->streams, slot, generation);
        if (stream) turn_told(loop, stream, IO_END_RESET);
    }
    ready_drain(loop);
}

// The kernel tells nothing of a listener whose descriptor somebody has closed, so it is looked at
// once in a while.
static void ready_look_at_listeners(io_loop *loop)
{
    readiness *state = loop->kernel;
    state->look_ns = 0;
    for (uint32_t i = 0; i < READINESS_OPS_MAX; i++) {
        io_op *op = state->ops[i];
        if (!op || op->code != IO_ACCEPT) continue;
        state->look_ns = loop->now_ns + readiness_look_ns;
        if (socket_listener_id(op->fd) != state->listener_ids[i]) ready_break(loop, op);
    }
}

int64_t readiness_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    const readiness *state = loop->kernel;
    int64_t wait = turn_wait_ns(loop, timeout_ns);
    if (!state->look_ns) return wait;
    int64_t look = state->look_ns > loop->now_ns ? state->look_ns - loop->now_ns : 0;
    return wait < 0 || look < wait ? look : wait;
}

void readiness_end(io_loop *loop)
{
    const readiness *state = loop->kernel;
    if (state->look_ns && loop->now_ns >= state->look_ns) ready_look_at_listeners(loop);
    if (state->turn.paused && loop->now_ns >= state->turn.retry_ns) ready_retry_accepts(loop);
}
