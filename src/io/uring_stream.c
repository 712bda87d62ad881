// SPDX-License-Identifier: MIT
//
// Streams over io_uring. A receive is armed once and completes repeatedly, into buffers that all
// streams of the loop share. Sends are submitted together, and never wait: they have their result
// when they have been submitted, so that what they point to is borrowed no longer than that.
// Until a stream has to wait for something, it is served by plain system calls, so that a
// connection whose request is there when it is accepted costs nothing of this.

#include "io/uring_stream.h"

#include "io/uring.h"
#include "io/uring_kernel.h"

#ifdef __linux__

#include "base/assert.h"
#include "io/disk.h"
#include "io/transfer.h"
#include "io/uring_files.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

// ---- Octets that came while receiving was stopped ----

static uring_held **uring_held_of(uring_kernel *kernel, const io_stream *stream)
{
    uring_held **link = &kernel->held[stream->item.slot % URING_HELD_BUCKETS];
    while (*link && (*link)->slot != stream->item.slot)
        link = &(*link)->next;
    return link;
}

// Goes behind what is held of it already, which may be of any length.
static bool uring_hold(const io_loop *loop, io_stream *stream, const char *octets, size_t len)
{
    uring_kernel *kernel = loop->kernel;
    uring_held *held = counted_alloc(loop->memory, sizeof *held + len);
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
        counted_free(uring_held_take(kernel, stream));
}

static void uring_held_deliver(io_loop *loop, io_stream *stream)
{
    while ((stream->flags & (URING_HOLDS | IO_WANT_RECV | IO_PENDING)) ==
           (URING_HOLDS | IO_WANT_RECV)) {
        uring_held *held = uring_held_take(loop->kernel, stream);
        io_events_of(loop, stream)->received(stream, held->octets, held->len);
        counted_free(held);
    }
}

// Octets that are held, or were taken from the socket already, are input. Completions that the ring
// still has to tell of may be this stream's, so they count too.
bool uring_stream_has_input(const io_loop *loop, const io_stream *stream)
{
    const uring_kernel *kernel = loop->kernel;
    return (stream->flags & URING_HOLDS) || uring_ring_owes(&kernel->ring) ||
           turn_has_input(loop, stream);
}

// ---- Arming ----

static uring_sqe *uring_submission(io_loop *loop, io_stream *stream, uring_kind kind)
{
    uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) {
        turn_postpone(loop, stream);
        return NULL;
    }
    sqe->fd = stream->fd;
    sqe->user_data = uring_stream_key(kind, stream);
    return sqe;
}

// A stream that floods brings full buffers, and so few pieces: a longer receive of it would make others wait.
static uint32_t uring_multishot_octets(uring_kernel *kernel, const io_stream *stream)
{
    uint32_t slot = stream->item.slot;
    if (slot >= URING_FILES) return URING_MULTISHOT_OCTETS;
    bool is_short = kernel->pieces[slot] == URING_SHORT_PIECES;
    kernel->pieces[slot] = 0;
    return is_short ? URING_MULTISHOT_SHORT_OCTETS : URING_MULTISHOT_OCTETS;
}

static void uring_count_piece(uring_kernel *kernel, const io_stream *stream)
{
    uint32_t slot = stream->item.slot;
    if (slot < URING_FILES && kernel->pieces[slot] < URING_SHORT_PIECES) kernel->pieces[slot]++;
}

static void uring_forget_pieces(uring_kernel *kernel, const io_stream *stream)
{
    if (stream->item.slot < URING_FILES) kernel->pieces[stream->item.slot] = 0;
}

static void uring_arm_receive(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_RECEIVE);
    if (!sqe) return;
    sqe->opcode = URING_RECV;
    sqe->flags = URING_SQE_BUFFER_SELECT;
    if (kernel->multishot) {
        sqe->ioprio = URING_RECV_MULTISHOT;
        sqe->optlen = uring_multishot_octets(kernel, stream);
    }
    stream->flags |= URING_RECEIVES;
}

// The octets of streams that get many would not fit in the ring's buffers, nor in the processor's cache. So they are
// waited for, and received by a system call.
static void uring_arm_bulk(io_loop *loop, io_stream *stream)
{
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_RECEIVE);
    if (!sqe) return;
    sqe->opcode = URING_POLL_ADD;
    sqe->op_flags = uring_poll_events(POLLIN);
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

// Asks the kernel for the events that the stream waits for.
static void uring_arm(io_loop *loop, io_stream *stream)
{
    uint32_t flags = stream->flags;
    if ((flags & (IO_UNWRITABLE | URING_WAITS_OUT)) == IO_UNWRITABLE) {
        uring_arm_wait(loop, stream, URING_OF_WAIT_OUT, URING_WAITS_OUT, POLLOUT);
    }
    if (flags & (URING_RECEIVES | IO_CONNECTS)) return;
    if (!(flags & IO_WANT_RECV)) {
        if (flags & URING_WAITS_END) return;
        // or a reset, also after both sides' FIN: the last octets may still be on their way
        uring_arm_wait(loop, stream, URING_OF_WAIT_END, URING_WAITS_END, POLLRDHUP);
    } else if (!(flags & (URING_HOLDS | IO_READABLE))) {
        if (flags & IO_BULK) uring_arm_bulk(loop, stream);
        else uring_arm_receive(loop, stream);
    }
}

// ---- Sending ----

static bool uring_sends_file(const io_stream *stream)
{
    for (unsigned i = 0; i < stream->out->count; i++) {
        if (out_segment_at(stream->out, i)->kind == OUT_FILE) return true;
    }
    return false;
}

// Splicing a file is always given to a thread of the kernel's, so files go by sendfile, and what is
// before them too. So do octets in more pieces than a submission has room for. So do many octets: they
// are in the processor's cache now, and those of all streams of a turn together would not be.
static bool uring_sends_now(const io_stream *stream)
{
    return stream->out->count > URING_VECTORS || stream->out->octets >= URING_NOW_OCTETS ||
           uring_sends_file(stream);
}

// Where there is no room for more, those that are queued leave. Otherwise a stream could wait for as long as each turn
// brings as many others as there is room for.
static void uring_send(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    if (stream->out->octets == 0) {
        stream->flags &= ~(uint32_t)IO_WANT_SEND;
    } else if (!(stream->flags & URING_RECEIVES) || uring_sends_now(stream)) {
        turn_send(loop, stream);
    } else {
        if (kernel->send_count == URING_SENDS_MAX) uring_submit(loop);
        stream->flags |= URING_QUEUED;
        kernel->sends[kernel->send_count++] = stream->item;
    }
}

static void uring_submit_send(io_loop *loop, io_stream *stream, uring_message *message)
{
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_SEND);
    if (!sqe) return;
    uint64_t octets;
    unsigned n = transfer_gather(stream->out, loop->send_turn_octets_max, message->iov,
                                 URING_VECTORS, &octets);
    // The last octets wait for the FIN that follows at once, so that both leave in one segment.
    bool more = octets < stream->out->octets || (stream->flags & IO_LAST);
    sqe->op_flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? (uint32_t)MSG_MORE : 0);
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
    if (uring_files_have(loop->kernel, stream)) {
        sqe->flags = URING_SQE_FIXED_FILE;
        sqe->fd = (int32_t)stream->item.slot;
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

static bool uring_cancel_one(io_loop *loop, io_stream *stream, uring_kind kind)
{
    uring_sqe *sqe = uring_submission(loop, stream, URING_OF_CANCEL);
    if (sqe) uring_cancel_fill(sqe, uring_stream_key(kind, stream));
    return sqe;
}

// An armed operation holds the socket: closing the descriptor alone would send no FIN. A send has
// its completion already, with the others of this turn.
static void uring_cancel_all(io_loop *loop, io_stream *stream)
{
    uint32_t flags = stream->flags;
    if ((flags & URING_RECEIVES) && !uring_cancel_one(loop, stream, URING_OF_RECEIVE)) return;
    if ((flags & URING_WAITS_OUT) && !uring_cancel_one(loop, stream, URING_OF_WAIT_OUT)) return;
    if ((flags & URING_WAITS_END) && !uring_cancel_one(loop, stream, URING_OF_WAIT_END)) return;
    stream->flags |= URING_CANCELS;
}

// The thread sanitizer hears of close alone, and takes whoever gets the number next for the same
// socket.
#ifdef __SANITIZE_THREAD__
enum { URING_CLOSES_AT_ONCE = 1 };
#else
enum { URING_CLOSES_AT_ONCE = 0 };
#endif

// Closes with the next submission, which costs the least; at once where somebody waits for a
// descriptor.
static void uring_close_socket(uring_kernel *kernel, const io_stream *stream)
{
    bool at_once = URING_CLOSES_AT_ONCE || kernel->turn.paused || kernel->dead;
    uring_files_drop(kernel, stream, at_once);
    uring_sqe *sqe = at_once ? NULL : uring_ring_submission(&kernel->ring);
    if (!sqe) {
        (void)close(stream->fd);
        return;
    }
    sqe->opcode = URING_CLOSE;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->fd = stream->fd;
}

void uring_close_unsubmitted(uring_kernel *kernel)
{
    const uring_ring *ring = &kernel->ring;
    for (uint32_t i = atomic_load_explicit(ring->sq_head, memory_order_acquire);
         i != ring->sq_local; i++) {
        uring_sqe *sqe = &ring->sqes[i & ring->sq_mask];
        if (sqe->opcode != URING_CLOSE || sqe->file_index) continue;
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
    uring_forget_pieces(kernel, stream);
    if (stream->fd >= 0) {
        if (stream->flags & IO_RESETS) transfer_close_resets(stream->fd);
        uring_close_socket(kernel, stream);
    }
    stream->fd = -1;
    io_events_of(loop, stream)->closed(stream);
    if (kernel->turn.paused) uring_retry_accepts(loop);
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

static void uring_move(io_loop *loop, io_stream *stream)
{
    uint32_t sending = IO_WANT_SEND | IO_UNWRITABLE | IO_COLD | URING_SENDS | URING_QUEUED;
    if ((stream->flags & sending) == IO_WANT_SEND) uring_send(loop, stream);
    turn_shutdown(stream);
    uring_held_deliver(loop, stream);
    if (!(stream->flags & URING_RECEIVES)) turn_receive(loop, stream);
}

void uring_stream_run(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_WANT_CLOSE) {
        uring_close_stream(loop, stream);
        return;
    }
    turn_kick(loop, stream);
    if (!(stream->flags & IO_CONNECTS) || turn_connected(loop, stream)) uring_move(loop, stream);
    if (!(stream->flags & (IO_PENDING | IO_RESET_TOLD))) uring_arm(loop, stream);
}

// ---- Completions ----

// No more of a receive that goes on would be held than it has brought already.
static void uring_stop_receive(io_loop *loop, io_stream *stream)
{
    uring_kernel *kernel = loop->kernel;
    if ((stream->flags & (URING_RECEIVES | URING_STOPS)) != URING_RECEIVES) return;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) return; // the next octets ask again
    uring_cancel_fill(sqe, uring_stream_key(URING_OF_RECEIVE, stream));
    sqe->user_data = uring_stream_key(URING_OF_CANCEL, stream);
    stream->flags |= URING_STOPS;
}

static void uring_received_octets(io_loop *loop, io_stream *stream, char *octets, size_t len)
{
    if ((stream->flags & (IO_WANT_RECV | URING_HOLDS)) == IO_WANT_RECV) {
        io_events_of(loop, stream)->received(stream, octets, len);
    } else if (uring_hold(loop, stream, octets, len)) {
        uring_stop_receive(loop, stream);
    } else {
        turn_told(loop, stream, IO_END_RESET);
    }
}

// FIN is told again by the next receive, so that it need not be kept.
static void uring_received_end(io_loop *loop, io_stream *stream)
{
    stream->flags |= IO_FIN_SEEN;
    if (!(stream->flags & IO_WANT_RECV)) {
        turn_told(loop, stream, IO_END_NEAR);
    } else if (!(stream->flags & URING_HOLDS)) {
        turn_received_end(loop, stream);
    }
}

static void uring_receive_failed(io_loop *loop, io_stream *stream, int error)
{
    uring_kernel *kernel = loop->kernel;
    if (error == ECANCELED) return; // stopped
    // All buffers were in use. Armed again, streams would take them in the same order for ever, and
    // those behind would never get one: this one is served by system calls until it has no more.
    if (error == ENOBUFS) stream->flags |= IO_READABLE;
    // The kernel cannot limit a multishot: no stream could be stopped in time.
    else if (error == EINVAL && kernel->multishot) kernel->multishot = false;
    else (void)turn_failed(loop, stream, error);
}

static void uring_received_some(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    uring_kernel *kernel = loop->kernel;
    uint32_t id = cqe->flags >> URING_CQE_BUFFER_SHIFT;
    if (cqe->res < 0) {
        uring_receive_failed(loop, stream, -cqe->res);
    } else if (cqe->res == 0) {
        uring_received_end(loop, stream);
    } else if (cqe->flags & URING_CQE_BUFFER) {
        uring_count_piece(kernel, stream);
        uring_received_octets(loop, stream, uring_ring_buffer(&kernel->ring, id), (size_t)cqe->res);
    } else {
        stream->flags |= IO_READABLE; // this was waited for
    }
}

static void uring_received(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    uring_kernel *kernel = loop->kernel;
    bool over = !(cqe->flags & URING_CQE_MORE);
    if (over) stream->flags &= ~(uint32_t)(URING_RECEIVES | URING_STOPS);
    if (!(stream->flags & (IO_WANT_CLOSE | IO_RESET_TOLD))) {
        // A full buffer: there is more, of which others by system calls get several such a turn.
        if (over && cqe->res == URING_BUFFER_OCTETS && !kernel->multishot)
            stream->flags |= IO_READABLE;
        uring_received_some(loop, stream, cqe);
        if ((stream->flags & IO_BULK) && over) stream->flags |= IO_READABLE;
        if ((stream->flags & IO_BULK) && !over) uring_stop_receive(loop, stream);
    }
    if (cqe->flags & URING_CQE_BUFFER)
        uring_ring_give(&kernel->ring, cqe->flags >> URING_CQE_BUFFER_SHIFT);
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
        if (!turn_failed(loop, stream, -res)) return;
        stream->flags |= IO_UNWRITABLE;
        res = 0;
    }
    if (res > 0) uring_files_count(loop->kernel, stream);
    out_pop(stream->out, (uint64_t)res);
    turn_sent(loop, stream, (uint64_t)res);
    if (stream->flags & (IO_WANT_SEND | IO_WANT_SHUTDOWN)) io_push(loop, stream);
}

static void uring_may_end(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    int32_t res = cqe->res;
    if (!(cqe->flags & URING_CQE_MORE)) stream->flags &= ~(uint32_t)URING_WAITS_END;
    io_push(loop, stream);
    if (stream->flags & (IO_WANT_CLOSE | IO_RESET_TOLD) || res < 0) return;
    stream->flags |= IO_FIN_SEEN;
    if (res & POLLERR) stream->flags |= IO_BROKEN;
    if (stream->flags & IO_WANT_RECV) return; // receiving tells
    if (res & POLLERR) turn_told(loop, stream, IO_END_RESET);
    else if (!(stream->flags & IO_FIN_TOLD)) turn_told(loop, stream, IO_END_NEAR);
}

static void uring_may_send(io_loop *loop, io_stream *stream, const uring_cqe *cqe)
{
    if (!(cqe->flags & URING_CQE_MORE)) stream->flags &= ~(uint32_t)URING_WAITS_OUT;
    if (cqe->res < 0 || cqe->res & (POLLOUT | POLLERR | POLLHUP))
        stream->flags &= ~(uint32_t)IO_UNWRITABLE;
    else stream->flags |= IO_FIN_SEEN;
    io_push(loop, stream);
}

// A cancellation does not find an operation that has completed, or one that has been woken and
// waits to be run by the kernel, as receives that are armed one by one do: those are cancelled
// again in the next turn.
static void uring_cancel_failed(io_loop *loop, io_stream *stream, int error)
{
    if (!(stream->flags & URING_BUSY) || error != ENOENT) return;
    stream->flags &= ~(uint32_t)(URING_CANCELS | URING_STOPS);
    turn_postpone(loop, stream);
}

void uring_stream_completed(io_loop *loop, uring_kind kind, const uring_cqe *cqe)
{
    uint32_t slot = (uint32_t)cqe->user_data & 0xffffff;
    io_stream *stream = pool_find(loop->streams, slot, (uint32_t)(cqe->user_data >> 32));
    if (!stream && kind == URING_OF_CANCEL) return; // it has been closed
    SKUA_ASSERT(stream);                            // CLOSE has waited for it
    switch (kind) {
    case URING_OF_RECEIVE: uring_received(loop, stream, cqe); return;
    case URING_OF_SEND: uring_sent(loop, stream, cqe->res); return;
    case URING_OF_WAIT_END: uring_may_end(loop, stream, cqe); return;
    case URING_OF_WAIT_OUT: uring_may_send(loop, stream, cqe); return;
    case URING_OF_CANCEL: uring_cancel_failed(loop, stream, -cqe->res); return;
    case URING_OF_NOTHING:
    case URING_OF_OP:
    case URING_OF_OP_CANCEL: return;
    }
}

#endif
