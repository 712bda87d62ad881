// SPDX-License-Identifier: MIT
//
// Streams over io_uring. A receive is armed once and completes repeatedly, into buffers that all
// streams of the loop share. Sends are submitted together, and never wait: they have their result
// when they have been submitted, so that what they point to is borrowed no longer than that.
// Until a stream has to wait for something, it is served by plain system calls, so that a
// connection whose request is there when it is accepted costs nothing of this.

#include "io/uring_kernel.h"

#ifdef __linux__

#include "base/assert.h"
#include "base/memory.h"
#include "io/disk.h"
#include "io/transfer.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

static void uring_told(io_loop *loop, io_stream *stream, io_end how)
{
    static const uint32_t told[] = { IO_NEAR_TOLD, IO_FIN_TOLD, IO_RESET_TOLD };
    if (stream->flags & (told[how] | IO_RESET_TOLD | IO_WANT_CLOSE)) return;
    stream->flags |= told[how];
    if (how == IO_END_RESET)
        stream->flags &= ~(uint32_t)(IO_WANT_RECV | IO_WANT_SEND | IO_WANT_SHUTDOWN);
    loop->events->ended(stream, how);
}

void uring_postpone(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    if (stream->flags & (IO_LATER | IO_PENDING)) return;
    stream->flags |= IO_LATER | IO_PENDING;
    stream->next = kernel->later;
    kernel->later = stream;
}

// A failed receive or send: again when there is something to wait for, in the next turn, at once,
// or dead.
// Returns whether waiting helps.
static bool uring_failed(io_loop *loop, io_stream *stream, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK) return true;
    if (error == ENOBUFS || error == ENOMEM) uring_postpone(loop, stream);
    else if (error == EINTR) io_push(loop, stream);
    else uring_told(loop, stream, IO_END_RESET);
    return false;
}

// ---- Octets that came while receiving was stopped ----

static uring_held **uring_held_of(uring_kernel *kernel, const io_stream *stream)
{
    uring_held **link = &kernel->held[stream->item.slot % URING_HELD_BUCKETS];
    while (*link && (*link)->slot != stream->item.slot)
        link = &(*link)->next;
    return link;
}

// Goes behind what is held of it already, which may be of any length.
static bool uring_hold(uring_kernel *kernel, io_stream *stream, const char *octets, size_t len)
{
    uring_held *held = memory_alloc(sizeof *held + len);
    if (!held) return false;
    held->next = NULL;
    held->slot = stream->item.slot;
    held->len = len;
    memcpy(held->octets, octets, len);
    uring_held **link = &kernel->held[stream->item.slot % URING_HELD_BUCKETS];
    while (*link)
        link = &(*link)->next;
    *link = held;
    stream->flags |= URING_HOLDS;
    return true;
}

static uring_held *uring_held_take(uring_kernel *kernel, io_stream *stream)
{
    uring_held **link = uring_held_of(kernel, stream);
    uring_held *held = *link;
    SKUA_ASSERT(held);
    *link = held->next;
    if (!*uring_held_of(kernel, stream)) stream->flags &= ~(uint32_t)URING_HOLDS;
    return held;
}

static void uring_held_drop(uring_kernel *kernel, io_stream *stream)
{
    while (stream->flags & URING_HOLDS)
        memory_free(uring_held_take(kernel, stream));
}

static void uring_held_deliver(io_loop *loop, io_stream *stream)
{
    while ((stream->flags & (URING_HOLDS | IO_WANT_RECV | IO_PENDING)) ==
           (URING_HOLDS | IO_WANT_RECV)) {
        uring_held *held = uring_held_take(loop->kernel, stream);
        loop->events->received(stream, held->octets, held->len);
        memory_free(held);
    }
}

// ---- Receiving by system calls ----

// What was answered goes out before more is read.
static void uring_receive_directly(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    uint32_t wanted = IO_WANT_RECV | IO_READABLE;
    for (int i = 0; (stream->flags & (wanted | IO_PENDING | URING_RECEIVES)) == wanted; i++) {
        if (i == IO_TURN_READS_MAX) {
            uring_postpone(loop, stream);
            return;
        }
        ssize_t n = recv(stream->fd, kernel->buffer, sizeof kernel->buffer, 0);
        if (n < 0) {
            if (uring_failed(loop, stream, errno)) stream->flags &= ~(uint32_t)IO_READABLE;
            return;
        }
        if ((size_t)n < sizeof kernel->buffer) stream->flags &= ~(uint32_t)IO_READABLE;
        if (n == 0) {
            stream->flags &= ~(uint32_t)IO_WANT_RECV;
            uring_told(loop, stream, IO_END_FIN);
        } else {
            loop->events->received(stream, kernel->buffer, (size_t)n);
        }
    }
}

// ---- Arming ----

static uring_sqe *uring_submission(io_loop *loop, io_stream *stream, uring_kind kind)
{
    uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) {
        uring_postpone(loop, stream);
        return NULL;
    }
    sqe->fd = stream->fd;
    sqe->user_data = uring_stream_key(kind, stream);
    return sqe;
}

static void uring_arm_receive(io_loop *loop, io_stream *stream)
{
    const uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_RECEIVE);
    if (!sqe) return;
    sqe->opcode = URING_RECV;
    sqe->flags = URING_SQE_BUFFER_SELECT;
    if (kernel->multishot) {
        sqe->ioprio = URING_RECV_MULTISHOT;
        sqe->optlen = URING_MULTISHOT_OCTETS;
    }
    stream->flags |= URING_RECEIVES;
}

// The kernel tells of RDHUP, asked or not, and so a poll completes at once, each time, when the
// peer has sent FIN. One that goes on tells of it once, and then only of what is new.
static void uring_arm_wait(io_loop *loop, io_stream *stream, uring_kind kind, uint32_t flag,
                           uint32_t events)
{
    uring_sqe *sqe = uring_submission(loop, stream, kind);
    if (!sqe) return;
    sqe->opcode = URING_POLL_ADD;
    sqe->op_flags = uring_poll_events(events);
    if (stream->flags & (IO_FIN_SEEN | IO_FIN_TOLD)) sqe->len = URING_POLL_MULTISHOT;
    stream->flags |= flag;
}

// Has the kernel tell of what the stream waits for.
static void uring_arm(io_loop *loop, io_stream *stream)
{
    uint32_t flags = stream->flags;
    if ((flags & (IO_UNWRITABLE | URING_WAITS_OUT)) == IO_UNWRITABLE) {
        uring_arm_wait(loop, stream, URING_OF_WAIT_OUT, URING_WAITS_OUT, POLLOUT);
    }
    if (flags & URING_RECEIVES) return;
    if (!(flags & IO_WANT_RECV)) {
        if (flags & (URING_WAITS_END | URING_HUNG_UP)) return;
        // or a reset, after FIN
        uring_arm_wait(loop, stream, URING_OF_WAIT_END, URING_WAITS_END, POLLRDHUP);
    } else if (!(flags & (URING_HOLDS | IO_READABLE))) {
        uring_arm_receive(loop, stream);
    }
}

// ---- Sending ----

static void uring_send_done(io_loop *loop, io_stream *stream, uint64_t n)
{
    if (stream->flags & (IO_RESET_TOLD | IO_WANT_CLOSE)) return; // a release may have closed
    if (stream->out->octets == 0) stream->flags &= ~(uint32_t)IO_WANT_SEND;
    if (n) loop->events->sent(stream, n);
}

// Sends by system calls as much as the socket takes and the turn allows.
static void uring_send_directly(io_loop *loop, io_stream *stream)
{
    uint64_t total = 0;
    out_queue *out = stream->out;
    while (out->octets && !(stream->flags & (IO_UNWRITABLE | IO_WANT_CLOSE))) {
        if (total >= loop->send_turn_octets_max) {
            uring_postpone(loop, stream);
            break;
        }
        uint64_t asked;
        uint64_t most = loop->send_turn_octets_max - total;
        bool is_file = out_segment_at(out, 0)->kind == OUT_FILE;
        if (is_file && (most = disk_ready(loop, stream, most)) == 0) break;
        ssize_t n = is_file ? transfer_send_file(stream->fd, out, most, &asked)
                            : transfer_send(stream->fd, out, stream->flags & IO_LAST, &asked);
        if (n < 0) {
            if (uring_failed(loop, stream, errno)) stream->flags |= IO_UNWRITABLE;
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
    uring_send_done(loop, stream, total);
}

static bool uring_sends_file(const io_stream *stream)
{
    for (unsigned i = 0; i < stream->out->count; i++) {
        if (out_segment_at(stream->out, i)->kind == OUT_FILE) return true;
    }
    return false;
}

// Splicing a file is always given to a thread of the kernel's, so files go by sendfile, and what is
// before them too.
static void uring_send(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    if (stream->out->octets == 0) {
        stream->flags &= ~(uint32_t)IO_WANT_SEND;
    } else if (!(stream->flags & URING_RECEIVES) || uring_sends_file(stream)) {
        uring_send_directly(loop, stream);
    } else if (kernel->send_count < URING_SENDS_MAX) {
        stream->flags |= URING_QUEUED;
        kernel->sends[kernel->send_count++] = stream->item;
    } else {
        uring_postpone(loop, stream);
    }
}

// The memory at the front, within what one turn may send. Returns how many segments.
static unsigned uring_gather(const io_loop *loop, io_stream *stream,
                             struct iovec iov[URING_VECTORS])
{
    unsigned n = 0;
    uint64_t left = loop->send_turn_octets_max;
    while (n < stream->out->count && n < URING_VECTORS && left) {
        const out_segment *segment = out_segment_at(stream->out, n);
        if (segment->kind == OUT_FILE) break;
        uint64_t len = segment->len < left ? segment->len : left;
        union {
            const char *from;
            void *to;
        } ptr = { .from = segment->ptr };
        iov[n++] = (struct iovec){ .iov_base = ptr.to, .iov_len = (size_t)len };
        left -= len;
    }
    return n;
}

// The last octets wait for the FIN that follows at once, so that both leave in one segment.
static uint32_t uring_send_flags(const io_stream *stream, unsigned vectors)
{
    bool more = vectors < stream->out->count || (stream->flags & IO_LAST);
    return MSG_DONTWAIT | MSG_NOSIGNAL | (more ? (uint32_t)MSG_MORE : 0);
}

static void uring_submit_send(io_loop *loop, io_stream *stream, uring_message *message)
{
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_SEND);
    if (!sqe) return;
    unsigned n = uring_gather(loop, stream, message->iov);
    sqe->op_flags = uring_send_flags(stream, n);
    if (n == 1) {
        sqe->opcode = URING_SEND;
        sqe->addr = (uint64_t)(uintptr_t)message->iov[0].iov_base;
        sqe->len = (uint32_t)message->iov[0].iov_len;
    } else {
        message->header =
            (struct msghdr){ .msg_iov = message->iov, .msg_iovlen = (unsigned short)n };
        sqe->opcode = URING_SENDMSG;
        sqe->addr = (uint64_t)(uintptr_t)&message->header;
        sqe->len = 1;
    }
    stream->flags |= URING_SENDS;
}

void uring_stream_submit_sends(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    for (unsigned i = 0; i < kernel->send_count; i++) {
        io_stream *stream =
            pool_find(loop->streams, kernel->sends[i].slot, kernel->sends[i].generation);
        if (!stream) continue;
        stream->flags &= ~(uint32_t)URING_QUEUED;
        if (!(stream->flags & IO_WANT_SEND) || stream->out->octets == 0) continue;
        uring_submit_send(loop, stream, &kernel->messages[i]);
    }
    kernel->send_count = 0;
}

// ---- Closing ----

// An armed operation holds the socket: closing the descriptor alone would send no FIN.
static void uring_cancel_all(io_loop *loop, io_stream *stream)
{
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_NOTHING);
    if (!sqe) return;
    sqe->opcode = URING_ASYNC_CANCEL;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->op_flags = URING_CANCEL_FD | URING_CANCEL_ALL;
    stream->flags |= URING_CANCELS;
}

// The thread sanitizer hears of close alone, and takes whoever gets the number next for the same
// socket.
#ifdef __SANITIZE_THREAD__
enum { URING_CLOSES_AT_ONCE = 1 };
#else
enum { URING_CLOSES_AT_ONCE = 0 };
#endif

// With the next submission, which costs the least; at once where somebody waits for a descriptor.
static void uring_close_socket(uring_kernel *kernel, int fd)
{
    bool at_once = URING_CLOSES_AT_ONCE || kernel->paused || kernel->dead;
    uring_sqe *sqe = at_once ? NULL : uring_ring_submission(&kernel->ring);
    if (!sqe) {
        (void)close(fd);
        return;
    }
    sqe->opcode = URING_CLOSE;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->fd = fd;
}

void uring_close_unsubmitted(uring_kernel *kernel)
{
    const uring_ring *ring = &kernel->ring;
    for (uint32_t i = atomic_load_explicit(ring->sq_head, memory_order_acquire);
         i != ring->sq_local; i++) {
        uring_sqe *sqe = &ring->sqes[i & ring->sq_mask];
        if (sqe->opcode != URING_CLOSE) continue;
        (void)close(sqe->fd);
        *sqe = (uring_sqe){ .opcode = URING_NOP };
    }
}

static void uring_close_stream(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    disk_abandon(loop, stream);
    if (stream->flags & URING_BUSY) {
        if (!(stream->flags & URING_CANCELS)) uring_cancel_all(loop, stream);
        return;
    }
    uring_held_drop(kernel, stream);
    if (stream->flags & IO_RESETS) transfer_close_resets(stream->fd);
    uring_close_socket(kernel, stream->fd);
    stream->fd = -1;
    loop->events->closed(stream);
    if (kernel->paused) uring_retry_accepts(loop);
}

static void uring_release(io_loop *loop, io_stream *stream)
{
    stream->flags &= ~(uint32_t)(URING_BUSY | URING_QUEUED);
    if (stream->flags & IO_WANT_CLOSE) io_push(loop, stream);
}

void uring_release_streams(io_loop *loop)
{
    uint32_t slots = loop->streams->slab_count * POOL_SLAB_ITEMS;
    for (uint32_t slot = 0; slot < slots; slot++) {
        pool_item *item = pool_at(loop->streams, slot);
        if (item->generation & 1) uring_release(loop, (io_stream *)(void *)item);
    }
}

// ---- Running ----

// Does what the stream's flags ask for and the kernel may grant.
static void uring_stream_run(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        uring_close_stream(loop, stream);
        return;
    }
    if (stream->flags & IO_KICK) {
        stream->flags &= ~(uint32_t)IO_KICK;
        loop->events->kicked(stream);
    }
    uint32_t sending = IO_WANT_SEND | IO_UNWRITABLE | IO_COLD | URING_SENDS | URING_QUEUED;
    if ((stream->flags & sending) == IO_WANT_SEND) uring_send(loop, stream);
    if ((stream->flags & (IO_WANT_SHUTDOWN | IO_WANT_SEND)) == IO_WANT_SHUTDOWN) {
        stream->flags &= ~(uint32_t)IO_WANT_SHUTDOWN;
        (void)shutdown(stream->fd, SHUT_WR);
    }
    uring_held_deliver(loop, stream);
    uring_receive_directly(loop, stream);
    if (!(stream->flags & (IO_PENDING | IO_RESET_TOLD))) uring_arm(loop, stream);
}

// Running a stream may make it pending again: it has sent something and its source has more. A peer
// that takes all of it at once would keep the worker for itself, so after some rounds the rest
// waits for the next turn.
void uring_run_streams(io_loop *loop)
{
    for (int round = 0; loop->pending; round++) {
        io_stream *next, *stream = loop->pending;
        loop->pending = NULL;
        loop->pending_tail = &loop->pending;
        for (; stream; stream = next) {
            next = stream->next;
            stream->flags &= ~(uint32_t)IO_PENDING;
            if (round < URING_ROUNDS_MAX) uring_stream_run(loop, stream);
            else uring_postpone(loop, stream);
        }
    }
}

// ---- Completions ----

// No more of a receive that goes on would be held than it has brought already.
static void uring_stop_receive(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    if ((stream->flags & (URING_RECEIVES | URING_STOPS)) != URING_RECEIVES) return;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) return; // the next octets ask again
    sqe->opcode = URING_ASYNC_CANCEL;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->addr = uring_stream_key(URING_OF_RECEIVE, stream);
    stream->flags |= URING_STOPS;
}

static void uring_received_octets(io_loop *loop, io_stream *stream, char *octets, size_t len)
{
    if ((stream->flags & (IO_WANT_RECV | URING_HOLDS)) == IO_WANT_RECV) {
        loop->events->received(stream, octets, len);
    } else if (uring_hold(loop->kernel, stream, octets, len)) {
        uring_stop_receive(loop, stream);
    } else {
        uring_told(loop, stream, IO_END_RESET);
    }
}

// FIN is told again by the next receive, so that it need not be kept.
static void uring_received_end(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_FIN_SEEN;
    if (!(stream->flags & IO_WANT_RECV)) {
        uring_told(loop, stream, IO_END_NEAR);
    } else if (!(stream->flags & URING_HOLDS)) {
        stream->flags &= ~(uint32_t)IO_WANT_RECV;
        uring_told(loop, stream, IO_END_FIN);
    }
}

static void uring_receive_failed(io_loop *loop, io_stream *stream, int error)
{
    uring_kernel *kernel = loop->kernel;
    // stopped; or the buffers were all in use, and are not now
    if (error == ECANCELED || error == ENOBUFS) return;
    if (error == EINVAL && kernel->multishot) {
        kernel->multishot = false; // the kernel cannot limit it: no stream could be stopped in time
        return;
    }
    (void)uring_failed(loop, stream, error);
}

static void uring_received(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    uring_kernel *kernel = loop->kernel;
    bool over = !(cqe->flags & URING_CQE_MORE);
    uint32_t id = cqe->flags >> URING_CQE_BUFFER_SHIFT;
    if (over) stream->flags &= ~(uint32_t)(URING_RECEIVES | URING_STOPS);
    if (!(stream->flags & (IO_WANT_CLOSE | IO_RESET_TOLD))) {
        if (cqe->res > 0)
            uring_received_octets(loop, stream, uring_ring_buffer(&kernel->ring, id),
                                  (size_t)cqe->res);
        else if (cqe->res == 0) uring_received_end(loop, stream);
        else uring_receive_failed(loop, stream, -cqe->res);
    }
    if (cqe->flags & URING_CQE_BUFFER) uring_ring_give(&kernel->ring, id);
    if (over) io_push(loop, stream);
}

// res 0: it did not come to it.
static void uring_sent(io_loop *loop, io_stream *stream, int32_t res)
{
    stream->flags &= ~(uint32_t)URING_SENDS;
    if (stream->flags & (IO_WANT_CLOSE | IO_RESET_TOLD)) {
        io_push(loop, stream);
        return;
    }
    if (res < 0) {
        if (!uring_failed(loop, stream, -res)) return;
        stream->flags |= IO_UNWRITABLE;
    } else {
        out_pop(stream->out, (uint64_t)res);
        uring_send_done(loop, stream, (uint64_t)res);
    }
    if (stream->flags & (IO_WANT_SEND | IO_WANT_SHUTDOWN)) io_push(loop, stream);
}

static void uring_may_end(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    int32_t res = cqe->res;
    if (!(cqe->flags & URING_CQE_MORE)) stream->flags &= ~(uint32_t)URING_WAITS_END;
    io_push(loop, stream);
    if (stream->flags & (IO_WANT_CLOSE | IO_RESET_TOLD) || res < 0) return;
    if (res & POLLHUP) stream->flags |= URING_HUNG_UP;
    stream->flags |= IO_FIN_SEEN;
    if (stream->flags & IO_WANT_RECV) return; // receiving tells
    if (res & POLLERR) uring_told(loop, stream, IO_END_RESET);
    else if (!(stream->flags & IO_FIN_TOLD)) uring_told(loop, stream, IO_END_NEAR);
}

static void uring_may_send(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    if (!(cqe->flags & URING_CQE_MORE)) stream->flags &= ~(uint32_t)URING_WAITS_OUT;
    if (cqe->res < 0 || cqe->res & (POLLOUT | POLLERR | POLLHUP))
        stream->flags &= ~(uint32_t)IO_UNWRITABLE;
    else stream->flags |= IO_FIN_SEEN;
    io_push(loop, stream);
}

void uring_stream_completed(io_loop *loop, uring_kind kind, const uring_cqe *cqe)
{
    uint32_t slot = (uint32_t)cqe->user_data & 0xffffff;
    io_stream *stream = pool_find(loop->streams, slot, (uint32_t)(cqe->user_data >> 32));
    SKUA_ASSERT(stream); // CLOSE has waited for it
    switch (kind) {
    case URING_OF_RECEIVE: uring_received(loop, stream, cqe); return;
    case URING_OF_SEND: uring_sent(loop, stream, cqe->res); return;
    case URING_OF_WAIT_END: uring_may_end(loop, stream, cqe); return;
    case URING_OF_WAIT_OUT: uring_may_send(loop, stream, cqe); return;
    case URING_OF_NOTHING:
    case URING_OF_OP: return;
    }
}

#endif
