// SPDX-License-Identifier: MIT
//
// The epoll backend, edge-triggered. A stream is registered only when the loop has to wait for it, so that
// a connection whose request is there when it is accepted never meets epoll.

#include "io/io.h"

#include "base/assert.h"
#include "io/file.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    EPOLL_EVENTS = 256,
    EPOLL_OPS_MAX = 64,     // listeners, wake-ups and polls of one loop
    EPOLL_IOV_MAX = 64,
    EPOLL_FILE_STEP = 65536 // see epoll_file_step
};

// Accepting that was refused for want of descriptors or memory is tried again this often.
static const int64_t epoll_accept_retry_ns = 100000000;

// The event's data: a stream by slot and generation, or an operation by its index and generation 0.
typedef struct epoll_kernel {
    int fd;
    bool paused;           // some ACCEPT waits for descriptors
    int64_t retry_ns;      // when it is tried again
    io_stream *later;      // streams that used up their share of this turn
    io_op *ops[EPOLL_OPS_MAX];
    bool refused[EPOLL_OPS_MAX]; // ACCEPT taken off epoll until the retry
    struct epoll_event events[EPOLL_EVENTS];
    char buffer[IO_RECV_OCTETS];
} epoll_kernel;

static void epoll_clock(io_loop *loop)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    loop->now_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    io_timers_clock(&loop->timers, loop->now_ns);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    loop->unix_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static skua_status epoll_open(io_loop *loop)
{
    epoll_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return SKUA_ENOMEM;
    kernel->fd = epoll_create1(EPOLL_CLOEXEC);
    if (kernel->fd < 0) {
        free(kernel);
        return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
    }
    loop->kernel = kernel;
    epoll_clock(loop);
    return SKUA_OK;
}

static void epoll_close(io_loop *loop)
{
    epoll_kernel *kernel = loop->kernel;
    (void)close(kernel->fd);
    free(kernel);
    loop->kernel = NULL;
}

static void epoll_discard(io_loop *loop, int fd)
{
    (void)loop;
    (void)close(fd);
}

// ---- Streams ----

static void epoll_told(io_loop *loop, io_stream *stream, io_end how)
{
    static const uint32_t told[] = { IO_NEAR_TOLD, IO_FIN_TOLD, IO_RESET_TOLD };
    if (stream->flags & (told[how] | IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    stream->flags |= told[how];
    if (how == IO_END_RESET) stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    loop->events->ended(stream, how);
}

static void epoll_postpone(io_loop *loop, io_stream *stream)
{
    epoll_kernel *kernel = loop->kernel;
    if (stream->flags & (IO_LATER | IO_PENDING)) return;
    stream->flags |= IO_LATER | IO_PENDING;
    stream->next = kernel->later;
    kernel->later = stream;
}

// Edge-triggered with everything asked for at once: it never has to be changed.
static void epoll_register(io_loop *loop, io_stream *stream)
{
    epoll_kernel *kernel = loop->kernel;
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.u64 = (uint64_t)stream->item.generation << 32 | stream->item.slot,
    };
    if (epoll_ctl(kernel->fd, EPOLL_CTL_ADD, stream->fd, &event) == 0) {
        stream->flags |= IO_REGISTERED;
    } else {
        epoll_told(loop, stream, IO_END_RESET); // no memory, or max_user_watches: this one connection pays
    }
}

// A failed receive or send: wait for an event, try again next turn, or dead.
static void epoll_failed(io_loop *loop, io_stream *stream, uint32_t clear, uint32_t set)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        stream->flags = (stream->flags & ~clear) | set;
    } else if (errno == ENOBUFS || errno == ENOMEM) {
        epoll_postpone(loop, stream);
    } else if (errno != EINTR) {
        epoll_told(loop, stream, IO_END_RESET);
    } else {
        io_push(loop, stream);
    }
}

// A short read means that the kernel has no more, unless FIN is behind it: data and FIN are one event.
static void epoll_receive(io_loop *loop, io_stream *stream)
{
    epoll_kernel *kernel = loop->kernel;
    for (int i = 0; (stream->flags & IO_WANT_RECV) && (stream->flags & IO_READABLE); i++) {
        if (i == IO_TURN_READS_MAX) {
            epoll_postpone(loop, stream);
            return;
        }
        ssize_t n = recv(stream->fd, kernel->buffer, sizeof kernel->buffer, 0);
        if (n > 0) {
            bool brim = (size_t)n == sizeof kernel->buffer;
            if (!brim && !(stream->flags & IO_FIN_SEEN)) stream->flags &= ~(uint32_t)IO_READABLE;
            loop->events->received(stream, kernel->buffer, (size_t)n);
            // What was answered goes out before more is read.
            if (stream->flags & IO_PENDING) return;
        } else if (n == 0) {
            stream->flags &= ~(uint32_t)(IO_READABLE | IO_WANT_RECV);
            epoll_told(loop, stream, IO_END_FIN);
        } else {
            epoll_failed(loop, stream, IO_READABLE, 0);
            return;
        }
    }
}

// The memory segments at the front in one call. The last ones wait for the FIN that follows at once, so
// that both leave in one segment: a third of the cost of a connection per request.
static ssize_t epoll_send_memory(io_stream *stream, uint64_t *asked)
{
    out_queue *out = stream->out;
    struct iovec iov[EPOLL_IOV_MAX];
    unsigned n = 0;
    uint64_t octets = 0;
    while (n < out->count && n < EPOLL_IOV_MAX) {
        out_segment *segment = out_segment_at(out, n);
        if (segment->kind == OUT_FILE) break;
        union { const char *from; void *to; } ptr = { .from = segment->ptr };
        iov[n++] = (struct iovec){ .iov_base = ptr.to, .iov_len = (size_t)segment->len };
        octets += segment->len;
    }
    *asked = octets;
    int flags = MSG_NOSIGNAL | (n < out->count || (stream->flags & IO_LAST) ? MSG_MORE : 0);
    if (n == 1) return send(stream->fd, iov[0].iov_base, iov[0].iov_len, flags);
    struct msghdr message = { .msg_iov = iov, .msg_iovlen = n };
    return sendmsg(stream->fd, &message, flags);
}

static ssize_t epoll_send_file(io_stream *stream, uint64_t most, uint64_t *asked)
{
    out_segment *segment = out_segment_at(stream->out, 0);
    uint64_t len = segment->len < most ? segment->len : most;
    if (segment->len < 4 * (uint64_t)EPOLL_FILE_STEP && len > EPOLL_FILE_STEP) len = EPOLL_FILE_STEP;
    off_t offset = (off_t)segment->offset;
    *asked = len;
    return sendfile(stream->fd, segment->file, &offset, (size_t)len);
}

static void epoll_send(io_loop *loop, io_stream *stream)
{
    uint64_t total = 0;
    out_queue *out = stream->out;
    while (out->octets && !(stream->flags & IO_UNWRITABLE)) {
        if (total >= loop->send_turn_octets_max) {
            epoll_postpone(loop, stream);
            break;
        }
        uint64_t asked;
        bool is_file = out_segment_at(out, 0)->kind == OUT_FILE;
        ssize_t n = is_file ? epoll_send_file(stream, loop->send_turn_octets_max - total, &asked)
                            : epoll_send_memory(stream, &asked);
        if (n < 0) {
            epoll_failed(loop, stream, 0, IO_UNWRITABLE);
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
        if ((uint64_t)n < asked && !is_file) stream->flags |= IO_UNWRITABLE;
    }
    if (stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    if (out->octets == 0) stream->flags &= ~(uint32_t)IO_WANT_SEND;
    if (total) loop->events->sent(stream, total);
}

static void epoll_retry_accepts(io_loop *loop);

static void epoll_finish(io_loop *loop, io_stream *stream)
{
    epoll_kernel *kernel = loop->kernel;
    (void)close(stream->fd);
    stream->fd = -1;
    loop->events->closed(stream);
    if (kernel->paused) epoll_retry_accepts(loop);
}

// Does what the stream's flags ask for and the kernel may grant.
static void epoll_run(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        epoll_finish(loop, stream);
        return;
    }
    if (stream->flags & IO_KICK) {
        stream->flags &= ~(uint32_t)IO_KICK;
        loop->events->kicked(stream);
    }
    if ((stream->flags & (IO_WANT_SEND | IO_UNWRITABLE)) == IO_WANT_SEND) epoll_send(loop, stream);
    if ((stream->flags & (IO_WANT_SHUTDOWN | IO_WANT_SEND)) == IO_WANT_SHUTDOWN) {
        stream->flags &= ~(uint32_t)IO_WANT_SHUTDOWN;
        (void)shutdown(stream->fd, SHUT_WR);
    }
    if (!(stream->flags & IO_PENDING)) epoll_receive(loop, stream);
    if (!(stream->flags & (IO_REGISTERED | IO_PENDING | IO_RESET_TOLD))) epoll_register(loop, stream);
}

static void epoll_drain_streams(io_loop *loop)
{
    while (loop->pending) {
        io_stream *stream = loop->pending;
        loop->pending = stream->next;
        if (!loop->pending) loop->pending_tail = &loop->pending;
        stream->flags &= ~(uint32_t)IO_PENDING;
        epoll_run(loop, stream);
    }
}

static void epoll_stream_event(io_loop *loop, io_stream *stream, uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) stream->flags |= IO_FIN_SEEN | IO_READABLE;
    if (events & EPOLLIN) stream->flags |= IO_READABLE;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) stream->flags &= ~(uint32_t)IO_UNWRITABLE;
    if (stream->flags & IO_PENDING) return;
    if (!(stream->flags & IO_WANT_RECV)) {
        if (events & EPOLLERR) epoll_told(loop, stream, IO_END_RESET);
        else if (events & (EPOLLRDHUP | EPOLLHUP)) epoll_told(loop, stream, IO_END_NEAR);
        if (stream->flags & IO_PENDING) return;
    }
    epoll_run(loop, stream);
}

// ---- Operations ----

static skua_status epoll_watch_fd(io_loop *loop, io_op *op)
{
    epoll_kernel *kernel = loop->kernel;
    for (uint32_t i = 0; i < EPOLL_OPS_MAX; i++) {
        if (kernel->ops[i]) continue;
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
        if (epoll_ctl(kernel->fd, EPOLL_CTL_ADD, op->fd, &event) != 0) return SKUA_ENOMEM;
        kernel->ops[i] = op;
        kernel->refused[i] = false;
        op->slot = i;
        return SKUA_OK;
    }
    return SKUA_ELIMIT;
}

static skua_status epoll_open_wake(io_loop *loop, io_op *op)
{
    op->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (op->fd < 0) return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
    return epoll_watch_fd(loop, op);
}

static void epoll_forget_fd(io_loop *loop, io_op *op)
{
    epoll_kernel *kernel = loop->kernel;
    if (op->slot >= EPOLL_OPS_MAX || kernel->ops[op->slot] != op) return;
    (void)epoll_ctl(kernel->fd, EPOLL_CTL_DEL, op->fd, NULL);
    kernel->ops[op->slot] = NULL;
}

static void epoll_peer_read(io_address *address, const struct sockaddr_storage *from)
{
    *address = (io_address){ .family = 1 };
    if (from->ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, from, sizeof in);
        address->family = 4;
        address->port = ntohs(in.sin_port);
        memcpy(address->octets, &in.sin_addr, 4);
    } else if (from->ss_family == AF_INET6) {
        struct sockaddr_in6 in;
        memcpy(&in, from, sizeof in);
        address->family = 6;
        address->port = ntohs(in.sin6_port);
        memcpy(address->octets, &in.sin6_addr, 16);
    }
}

// Out of descriptors or memory. Level-triggered, the listener would spin: it leaves epoll until the retry.
static void epoll_refuse(io_loop *loop, io_op *op)
{
    epoll_kernel *kernel = loop->kernel;
    kernel->paused = true;
    kernel->retry_ns = loop->now_ns + epoll_accept_retry_ns;
    if (kernel->refused[op->slot]) return;
    kernel->refused[op->slot] = true;
    struct epoll_event event = { .events = 0, .data.u64 = op->slot };
    (void)epoll_ctl(kernel->fd, EPOLL_CTL_MOD, op->fd, &event);
}

static bool epoll_accept_one(io_loop *loop, io_op *op)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd = accept4(op->fd, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        epoll_peer_read(&op->peer, &from);
        op->done(op, fd);
        epoll_drain_streams(loop);
        return op->active;
    }
    switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        if (loop->evict && loop->evict(loop)) return true;
        epoll_refuse(loop, op);
        return false;
    case EAGAIN: return false;
    default: return true; // this connection died in the queue; others wait behind it
    }
}

static void epoll_accept(io_loop *loop, io_op *op)
{
    for (int i = 0; i < IO_TURN_ACCEPTS_MAX; i++) {
        if (!epoll_accept_one(loop, op)) return;
    }
}

static void epoll_retry_accepts(io_loop *loop)
{
    epoll_kernel *kernel = loop->kernel;
    kernel->paused = false;
    for (uint32_t i = 0; i < EPOLL_OPS_MAX; i++) {
        if (!kernel->ops[i] || !kernel->refused[i]) continue;
        kernel->refused[i] = false;
        struct epoll_event event = { .events = EPOLLIN, .data.u64 = i };
        (void)epoll_ctl(kernel->fd, EPOLL_CTL_MOD, kernel->ops[i]->fd, &event);
    }
}

static void epoll_file_open(io_op *op, bool stat_only)
{
    int fd = 0; // looking opens nothing, and results below 0 are errors
    skua_status status = file_open_beneath(op->fd, op->path.ptr, stat_only, &fd, &op->info);
    op->active = false;
    op->done(op, status == SKUA_OK ? fd : -(int64_t)status);
}

static void epoll_file_read(io_op *op)
{
    ssize_t n = pread(op->fd, op->buffer, (size_t)op->length, (off_t)op->offset);
    op->active = false;
    op->done(op, n >= 0 ? n : -(int64_t)SKUA_EIO);
}

static void epoll_op_refused(io_op *op, skua_status status)
{
    op->active = false;
    op->done(op, -(int64_t)status);
}

static void epoll_op_start(io_loop *loop, io_op *op)
{
    skua_status status = SKUA_OK;
    if (!op->active) return; // cancelled before it began
    switch ((io_code)op->code) {
    case IO_FILE_OPEN: epoll_file_open(op, false); return;
    case IO_FILE_STAT: epoll_file_open(op, true); return;
    case IO_FILE_READ: epoll_file_read(op); return;
    case IO_WAKE: status = epoll_open_wake(loop, op); break;
    case IO_ACCEPT:
    case IO_POLL: status = epoll_watch_fd(loop, op); break;
    case IO_CONNECT:
    case IO_RECVMSG:
    case IO_SENDMSG: status = SKUA_EUNSUPPORTED; break;
    }
    if (status) epoll_op_refused(op, status);
}

static void epoll_drain(io_loop *loop)
{
    do {
        epoll_drain_streams(loop);
        io_op *op = loop->pending_ops;
        if (!op) return;
        loop->pending_ops = op->next;
        if (!loop->pending_ops) loop->pending_ops_tail = &loop->pending_ops;
        epoll_op_start(loop, op);
    } while (loop->pending || loop->pending_ops);
}

static void epoll_op_event(io_loop *loop, io_op *op)
{
    uint64_t count;
    switch ((io_code)op->code) {
    case IO_ACCEPT: epoll_accept(loop, op); return;
    case IO_WAKE:
        if (read(op->fd, &count, sizeof count) == (ssize_t)sizeof count) op->done(op, 0);
        return;
    case IO_POLL:
        epoll_forget_fd(loop, op);
        op->active = false;
        op->done(op, 0);
        return;
    case IO_CONNECT:
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ:
    case IO_RECVMSG:
    case IO_SENDMSG: return;
    }
}

static void epoll_cancel(io_loop *loop, io_op *op)
{
    if (op->code == IO_ACCEPT) { // what the kernel has accepted already is delivered
        op->active = true;
        epoll_accept(loop, op);
        op->active = false;
    }
    epoll_forget_fd(loop, op);
    if (op->code == IO_WAKE && op->fd >= 0) (void)close(op->fd);
}

static void epoll_wake(io_op *op)
{
    uint64_t one = 1;
    ssize_t n = write(op->fd, &one, sizeof one); // full means that a wake-up is under way already
    (void)n;
}

// ---- The turn ----

// Polls come first: a change of a directory is seen before the requests that came behind it.
static void epoll_dispatch_polls(io_loop *loop, int n)
{
    epoll_kernel *kernel = loop->kernel;
    for (int i = 0; i < n; i++) {
        uint64_t slot = kernel->events[i].data.u64;
        if (slot >= EPOLL_OPS_MAX || !kernel->ops[slot] || kernel->ops[slot]->code != IO_POLL) continue;
        epoll_op_event(loop, kernel->ops[slot]);
    }
}

static void epoll_dispatch(io_loop *loop, const struct epoll_event *event)
{
    epoll_kernel *kernel = loop->kernel;
    uint32_t generation = (uint32_t)(event->data.u64 >> 32);
    uint32_t slot = (uint32_t)event->data.u64;
    if (generation == 0) {
        io_op *op = kernel->ops[slot];
        if (op && op->code != IO_POLL) epoll_op_event(loop, op);
    } else {
        io_stream *stream = pool_find(loop->streams, slot, generation);
        if (stream) epoll_stream_event(loop, stream, event->events);
    }
    epoll_drain(loop);
}

static void epoll_take_later(io_loop *loop)
{
    epoll_kernel *kernel = loop->kernel;
    io_stream *stream = kernel->later;
    kernel->later = NULL;
    while (stream) {
        io_stream *next = stream->next;
        stream->flags &= ~(uint32_t)(IO_LATER | IO_PENDING);
        io_push(loop, stream);
        stream = next;
    }
}

static int epoll_timeout_ms(io_loop *loop, int64_t timeout_ns)
{
    epoll_kernel *kernel = loop->kernel;
    if (kernel->later) return 0;
    if (kernel->paused) {
        int64_t retry = kernel->retry_ns - loop->now_ns;
        if (retry < 0) retry = 0;
        if (timeout_ns < 0 || retry < timeout_ns) timeout_ns = retry;
    }
    if (timeout_ns < 0) return -1;
    int64_t ms = (timeout_ns + 999999) / 1000000;
    return ms > 60000 ? 60000 : (int)ms;
}

static skua_status epoll_turn(io_loop *loop, int64_t timeout_ns)
{
    epoll_kernel *kernel = loop->kernel;
    epoll_take_later(loop);
    epoll_drain(loop);
    int n = epoll_wait(kernel->fd, kernel->events, EPOLL_EVENTS, epoll_timeout_ms(loop, timeout_ns));
    epoll_clock(loop);
    if (n < 0 && errno != EINTR) return SKUA_EIO;
    epoll_dispatch_polls(loop, n);
    for (int i = 0; i < n; i++) epoll_dispatch(loop, &kernel->events[i]);
    if (kernel->paused && loop->now_ns >= kernel->retry_ns) epoll_retry_accepts(loop);
    return SKUA_OK;
}

const io_backend io_backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .turn = epoll_turn,
    .close = epoll_close,
    .cancel = epoll_cancel,
    .wake = epoll_wake,
    .discard = epoll_discard,
};
