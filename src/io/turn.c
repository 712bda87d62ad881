// SPDX-License-Identifier: MIT
//
// Turns. A stream's share of one is bounded (IO_TURN_READS_MAX, io_loop.send_turn_octets_max), and
// those that have used theirs go on in the next turn in the same order, so that none starves.

#include "io/turn.h"

#include "base/assert.h"
#include "io/disk.h"
#include "io/reserve.h"
#include "io/socket.h"
#include "io/transfer.h"

#include <errno.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// Accepting that was refused for want of descriptors or memory is tried again this often.
static const int64_t turn_retry_ns = 100000000;

// Streams that the kernel has no memory for wait this long at first; while that lasts, longer.
static const int64_t turn_starved_min_ns = 1000000, turn_starved_max_ns = 128000000;

void turn_init(turn_state *state)
{
    state->later_tail = &state->later;
}

void turn_clock(io_loop *loop)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    loop->now_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    io_timers_clock(&loop->timers, loop->now_ns);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    loop->unix_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t turn_until(const io_loop *loop, int64_t moment_ns, int64_t timeout_ns)
{
    int64_t left = moment_ns > loop->now_ns ? moment_ns - loop->now_ns : 0;
    return timeout_ns < 0 || left < timeout_ns ? left : timeout_ns;
}

int64_t turn_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    const turn_state *state = loop->kernel;
    if (state->later) return 0;
    if (state->paused) timeout_ns = turn_until(loop, state->retry_ns, timeout_ns);
    if (state->starved) timeout_ns = turn_until(loop, state->starved_ns, timeout_ns);
    return timeout_ns;
}

// ---- Whose turn it is ----

void turn_postpone(io_loop *loop, io_stream *stream)
{
    turn_state *state = loop->kernel;
    if (stream->flags & (IO_LATER | IO_PENDING)) return;
    stream->flags |= IO_LATER | IO_PENDING;
    stream->next = NULL;
    *state->later_tail = stream;
    state->later_tail = &stream->next;
}

void turn_kick_later(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_KICK;
    turn_postpone(loop, stream);
}

// The kernel may be short of memory for long: trying at once, again and again, would only keep the
// processor from those that could free some. Each wait that comes right after another is longer.
static void turn_starve(io_loop *loop, io_stream *stream)
{
    turn_state *state = loop->kernel;
    if (stream->flags & (IO_LATER | IO_PENDING)) return;
    stream->flags |= IO_LATER | IO_PENDING;
    stream->next = state->starved;
    state->starved = stream;
    if (stream->next) return;
    int64_t last = state->starved_wait_ns, longer = 2 * last;
    if (longer > turn_starved_max_ns) longer = turn_starved_max_ns;
    bool lasts = last && loop->now_ns - state->starved_ns < last;
    state->starved_wait_ns = lasts ? longer : turn_starved_min_ns;
    state->starved_ns = loop->now_ns + state->starved_wait_ns;
}

static void turn_push_all(io_loop *loop, io_stream *stream)
{
    while (stream) {
        io_stream *next = stream->next;
        stream->flags &= ~(uint32_t)(IO_LATER | IO_PENDING);
        io_push(loop, stream);
        stream = next;
    }
}

void turn_resume(io_loop *loop)
{
    turn_state *state = loop->kernel;
    io_stream *later = state->later, *starved = state->starved;
    state->later = NULL;
    state->later_tail = &state->later;
    turn_push_all(loop, later);
    if (!starved || loop->now_ns < state->starved_ns) return;
    state->starved = NULL;
    // A failure that comes next has come right after this try, however late that was.
    state->starved_ns = loop->now_ns;
    turn_push_all(loop, starved);
}

// ---- Ends ----

// One that is not connected yet is lost for want of memory.
static void turn_told_unconnected(io_loop *loop, io_stream *stream)
{
    stream->flags = (stream->flags & ~(uint32_t)IO_CONNECTS) | IO_RESET_TOLD;
    io_events_of(loop, stream)->connected(stream, SKUA_ENOMEM);
}

void turn_told(io_loop *loop, io_stream *stream, io_end how)
{
    static const uint32_t told[] = { IO_NEAR_TOLD, IO_FIN_TOLD, IO_RESET_TOLD };
    if (stream->flags & (told[how] | IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    if (stream->flags & IO_CONNECTS) {
        turn_told_unconnected(loop, stream);
        return;
    }
    stream->flags |= told[how];
    if (how == IO_END_RESET)
        stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    io_events_of(loop, stream)->ended(stream, how);
}

bool turn_failed(io_loop *loop, io_stream *stream, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK) return true;
    if (error == ENOBUFS || error == ENOMEM) turn_starve(loop, stream);
    else if (error == EINTR) io_push(loop, stream);
    else turn_told(loop, stream, IO_END_RESET);
    return false;
}

void turn_half_close(io_stream *stream)
{
    stream->flags &= ~(uint32_t)IO_WANT_SHUTDOWN;
    (void)shutdown(stream->fd, SHUT_WR);
}

// ---- Connecting ----

void turn_connect(io_loop *loop, io_stream *stream, const socket_address *to)
{
    (void)loop;
    bool waits = false;
    stream->fd = socket_connect(to, &waits);
    if (waits) stream->flags |= IO_UNWRITABLE;
}

bool turn_connected(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_UNWRITABLE) return false;
    stream->flags &= ~(uint32_t)IO_CONNECTS;
    skua_status status =
        stream->fd < 0 ? (skua_status)-stream->fd : socket_connect_status(stream->fd);
    if (status) stream->flags |= IO_RESET_TOLD;
    io_events_of(loop, stream)->connected(stream, status);
    return !(stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE));
}

// ---- Receiving ----

// A short read means that the kernel has no more, unless FIN is behind it: data and FIN are one
// event.
static void turn_received(io_loop *loop, io_stream *stream, size_t len, size_t room)
{
    turn_state *state = loop->kernel;
    if (len < room && !(stream->flags & IO_FIN_SEEN)) stream->flags &= ~(uint32_t)IO_READABLE;
    io_events_of(loop, stream)->received(stream, state->buffer, len);
}

// A kernel that tells of an error may take it from the socket by that: a reset, which receiving
// does not show any more, is no orderly end.
void turn_received_end(io_loop *loop, io_stream *stream)
{
    stream->flags &= ~(uint32_t)(IO_READABLE | IO_WANT_RECV);
    turn_told(loop, stream, stream->flags & IO_BROKEN ? IO_END_RESET : IO_END_FIN);
}

// They are the stream's whole share of a turn.
void turn_receive_many(io_loop *loop, io_stream *stream)
{
    turn_state *state = loop->kernel;
    if (!turn_receives(stream)) return;
    ssize_t n = transfer_recv(stream->fd, state->buffer, sizeof state->buffer);
    if (n < IO_RECV_OCTETS) stream->flags &= ~(uint32_t)IO_BULK;
    if (n > 0) turn_received(loop, stream, (size_t)n, sizeof state->buffer);
    else if (n == 0) turn_received_end(loop, stream);
    else if (turn_failed(loop, stream, errno)) stream->flags &= ~(uint32_t)IO_READABLE;
    if (turn_receives(stream)) turn_postpone(loop, stream);
}

// The owner's part of the stream and its queue are not in the processor's cache where there are many connections. They
// come while the kernel receives.
static inline void turn_fetch_owner(const io_stream *stream)
{
    __builtin_prefetch((const char *)stream + 64);
    if (stream->out) __builtin_prefetch(stream->out);
}

// Reads of a turn are bounded, so that one fast client does not make all others wait.
void turn_receive_some(io_loop *loop, io_stream *stream)
{
    turn_state *state = loop->kernel;
    int reads = 0;
    do {
        if (reads++ == IO_TURN_READS_MAX) {
            turn_postpone(loop, stream);
            return;
        }
        turn_fetch_owner(stream);
        ssize_t n = transfer_recv(stream->fd, state->buffer, IO_RECV_OCTETS);
        if (n > 0) {
            turn_received(loop, stream, (size_t)n, IO_RECV_OCTETS);
        } else if (n == 0) {
            turn_received_end(loop, stream);
        } else {
            if (turn_failed(loop, stream, errno)) stream->flags &= ~(uint32_t)IO_READABLE;
            return;
        }
    } while (turn_receives_few(stream));
}

// The socket says nothing of what it has said already: an end that was told.
bool turn_has_input(const io_loop *loop, const io_stream *stream)
{
    (void)loop;
    char octet;
    if (stream->flags & (IO_FIN_TOLD | IO_RESET_TOLD)) return false;
    ssize_t n = recv(stream->fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
    return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

// ---- Sending ----

void turn_unwritable(io_loop *loop, io_stream *stream)
{
    const turn_state *state = loop->kernel;
    stream->flags |= IO_UNWRITABLE;
    if (state->unwritable) state->unwritable(loop, stream);
}

// Sending a file fails with errors of the disk and of the socket alike, and some are either's: a
// network file system times out too. A connection that has failed has no peer any more.
__attribute__((cold)) static bool turn_fails_by_file(const io_stream *stream, int error)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    switch (error) {
    case EAGAIN:
#if EWOULDBLOCK != EAGAIN
    case EWOULDBLOCK:
#endif
    case EINTR:
    case ENOBUFS:
    case ENOMEM:
    case EPIPE:
    case ECONNRESET: return false;
    }
    return getpeername(stream->fd, (struct sockaddr *)&peer, &len) == 0;
}

static void turn_send_failed(io_loop *loop, io_stream *stream)
{
    stream->flags &= ~(uint32_t)IO_WANT_SEND;
    out_segment_at(stream->out, 0)->failed = true;
    io_events_of(loop, stream)->send_failed(stream);
}

// The octets of a turn are bounded, so that one fast client does not make all others wait.
void turn_send(io_loop *loop, io_stream *stream)
{
    uint64_t total = 0;
    out_queue *out = stream->out;
    while (!(stream->flags & (IO_UNWRITABLE | IO_WANT_CLOSE)) && out->octets) {
        if (total >= loop->send_turn_octets_max) {
            turn_postpone(loop, stream);
            break;
        }
        uint64_t asked;
        uint64_t most = loop->send_turn_octets_max - total;
        bool is_file = out_segment_at(out, 0)->kind == OUT_FILE;
        if (is_file && (most = disk_ready(loop, stream, most)) == 0) break;
        ssize_t n = is_file ? transfer_send_file(stream->fd, out, most, &asked)
                            : transfer_send(stream->fd, out, most, stream->flags & IO_LAST, &asked);
        if (is_file && (n == 0 || (n < 0 && turn_fails_by_file(stream, errno)))) {
            turn_send_failed(loop, stream);
            return;
        }
        if (n < 0) {
            if (turn_failed(loop, stream, errno)) turn_unwritable(loop, stream);
            break;
        }
        out_pop(out, (uint64_t)n);
        total += (uint64_t)n;
        // A short send of memory means a full socket. One of a file may also be its end: ask again.
        if ((uint64_t)n < asked && !is_file) turn_unwritable(loop, stream);
    }
    turn_sent(loop, stream, total);
}

uint64_t turn_send_at_once(io_loop *loop, io_stream *stream)
{
    out_queue *out = stream->out;
    const out_segment *only = &out->segments[out->first];
    uint32_t busy = IO_WANT_SEND | IO_WANT_CLOSE | IO_PENDING | IO_UNWRITABLE | IO_LAST;
    if (stream->flags & busy || only->kind != OUT_COPIED || only->len > loop->send_turn_octets_max)
        return 0;
    size_t n = io_send_now(loop, stream, only->ptr, (size_t)only->len);
    if (n == out->octets) out_clear(out);
    else out_pop(out, n);
    return n;
}

// ---- Operations ----

io_op *turn_take_op(io_loop *loop)
{
    io_op *op = loop->pending_ops;
    if (!op) return NULL;
    loop->pending_ops = op->next;
    if (!loop->pending_ops) loop->pending_ops_tail = &loop->pending_ops;
    return op;
}

void turn_op_failed(io_op *op, skua_status status)
{
    op->active = false;
    op->done(op, -(int64_t)status);
}

turn_refusal turn_refused(int error)
{
    switch (error) {
    case EAGAIN: return TURN_REFUSED_NONE;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return TURN_REFUSED_SCARCE;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
    case EOPNOTSUPP: return TURN_REFUSED_BROKEN;
    default: return TURN_REFUSED_ONE;
    }
}

static int turn_accept_by_reserve(io_op *op)
{
    unsigned times = 0;
    int fd;
    (void)reserve_mend(); // by what others have closed
    do {
        fd = transfer_accept(op->fd, &op->peer);
    } while (fd < 0 && reserve_spend_on_connection(errno, times++));
    return fd;
}

int turn_accept(const io_loop *loop, io_op *op)
{
    if (loop->accepts_from_reserve) return turn_accept_by_reserve(op);
    if (reserve_mend()) return transfer_accept(op->fd, &op->peer);
    errno = EMFILE;
    return -1;
}

bool turn_pause(io_loop *loop)
{
    turn_state *state = loop->kernel;
    if (loop->evict && loop->evict(loop)) return false;
    state->paused = true;
    state->retry_ns = loop->now_ns + turn_retry_ns;
    return true;
}

bool turn_goes_on(io_loop *loop, int error)
{
    switch (turn_refused(error)) {
    case TURN_REFUSED_ONE: return true;
    case TURN_REFUSED_SCARCE: return loop->evict && loop->evict(loop);
    case TURN_REFUSED_NONE:
    case TURN_REFUSED_BROKEN: break;
    }
    return false;
}

void turn_discard(io_loop *loop, int fd)
{
    disk_forget(loop, fd);
    reserve_close(fd);
}
