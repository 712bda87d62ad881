// SPDX-License-Identifier: MIT
//
// The io_uring backend: operations that are no stream's, and the turn, which enters the kernel
// once: to submit what was started since the last time, and to wait.
// The ring belongs to the thread that turns the loop, and is disabled until that one has settled. A
// loop is opened, and turned once so that it can be woken, by the thread that starts the server.
// There is no descriptor for another loop to wait
// on: a ring of this kind (DEFER_TASKRUN) makes its completions when it is entered, and tells
// nobody who polls it.

#include "io/uring.h"

#include "io/uring_files.h"
#include "io/uring_kernel.h"
#include "base/memory.h"

#ifdef __linux__

#include "io/disk.h"
#include "io/reserve.h"
#include "io/transfer.h"
#include "io/uring_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

// ---- Life ----

__attribute__((cold)) static skua_status uring_open(io_loop *loop)
{
    const char *call;
    uring_kernel *kernel = memory_zeroed(sizeof *kernel);
    if (!kernel) return SKUA_ENOMEM;
    skua_status status = uring_ring_open(&kernel->ring, &call);
    if (status) {
        memory_free(kernel);
        return status;
    }
    kernel->multishot = true;
    turn_init(&kernel->turn);
    loop->kernel = kernel;
    turn_clock(loop);
    return SKUA_OK;
}

static skua_status uring_settle(io_loop *loop)
{
    const char *call;
    uring_kernel *kernel = loop->kernel;
    return uring_ring_enable(&kernel->ring, &call);
}

static void uring_close(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    uring_close_unsubmitted(kernel);
    uring_ring_close(&kernel->ring);
    memory_free(kernel);
    loop->kernel = NULL;
}

// ---- Submitting ----

// A send that the kernel was too short of memory to take points to what its stream may give back by
// the time it is submitted again. It becomes nothing, and completes as nothing sent.
static void uring_defuse_sends(uring_kernel *kernel)
{
    uring_ring *ring = &kernel->ring;
    for (uint32_t i = atomic_load_explicit(ring->sq_head, memory_order_acquire);
         i != ring->sq_local; i++) {
        uring_sqe *sqe = &ring->sqes[i & ring->sq_mask];
        if (sqe->opcode != URING_SEND && sqe->opcode != URING_SENDMSG) continue;
        *sqe = (uring_sqe){ .opcode = URING_NOP, .user_data = sqe->user_data };
    }
}

static skua_status uring_enter_once(io_loop *loop, int64_t timeout_ns)
{
    uring_kernel *kernel = loop->kernel;
    uring_stream_submit_sends(loop); // there may be no room for some: they go on later
    timeout_ns = loop->pending ? 0 : turn_wait_ns(loop, timeout_ns);
    skua_status status = uring_ring_enter(&kernel->ring, timeout_ns);
    uring_defuse_sends(kernel);
    return status;
}

void uring_submit(io_loop *loop)
{
    (void)uring_enter_once(loop, 0);
}

// ---- Operations ----

static uint64_t uring_op_key(const uring_kernel *kernel, uring_kind kind, const uring_op *entry)
{
    return (uint64_t)kind << 24 | (uint64_t)(entry - kernel->ops);
}

static bool uring_arm_op(io_loop *loop, uring_op *entry)
{
    uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) return false;
    sqe->fd = entry->op->fd;
    sqe->user_data = uring_op_key(kernel, URING_OF_OP, entry);
    entry->armed = true;
    entry->cancels = false;
    if (entry->code == IO_ACCEPT) {
        sqe->opcode = URING_ACCEPT;
        sqe->ioprio = URING_ACCEPT_MULTISHOT;
        sqe->op_flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    } else if (entry->code == IO_POLL) {
        sqe->opcode = URING_POLL_ADD;
        sqe->op_flags = uring_poll_events(POLLIN);
        kernel->polls++;
    } else {
        sqe->opcode = URING_READ;
        sqe->addr = (uint64_t)(uintptr_t)&entry->wakes;
        sqe->len = sizeof entry->wakes;
    }
    return true;
}

static void uring_cancel_op(io_loop *loop, uring_op *entry)
{
    uring_kernel *kernel = loop->kernel;
    uring_sqe *sqe = uring_ring_submission(&kernel->ring);
    if (!sqe) return;
    uring_cancel_fill(sqe, uring_op_key(kernel, URING_OF_OP, entry));
    sqe->user_data = uring_op_key(kernel, URING_OF_OP_CANCEL, entry);
    entry->cancels = true;
}

// Whether an operation is not to be armed for now. The kernel accepts by itself and takes whatever
// descriptor there is, so accepting waits until the reserve for files is whole.
static bool uring_holds_back(io_loop *loop, uring_op *entry)
{
    bool waits = entry->code == IO_ACCEPT && !loop->accepts_from_reserve;
    while (waits && !entry->refused && !reserve_mend())
        entry->refused = turn_pause(loop);
    return entry->refused;
}

// Arms what should be armed and is not: at the beginning, or because there was no room for it
// before.
static void uring_arm_ops(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    if (!kernel->unarmed) return;
    kernel->unarmed = false;
    for (unsigned i = 0; i < URING_OPS_MAX; i++) {
        uring_op *entry = &kernel->ops[i];
        if (!entry->op || entry->armed || uring_holds_back(loop, entry)) continue;
        if (!uring_arm_op(loop, entry)) kernel->unarmed = true;
    }
}

static skua_status uring_add_op(io_loop *loop, io_op *op)
{
    uring_kernel *kernel = loop->kernel;
    for (uint32_t i = 0; i < URING_OPS_MAX; i++) {
        uring_op *entry = &kernel->ops[i];
        if (entry->op || entry->armed) continue;
        *entry = (uring_op){ .op = op, .code = op->code };
        op->slot = i;
        kernel->unarmed = true;
        return SKUA_OK;
    }
    return SKUA_ELIMIT;
}

// The descriptor is blocking, as the ring would not wait for another.
static skua_status uring_add_wake(io_loop *loop, io_op *op)
{
    op->fd = eventfd(0, EFD_CLOEXEC);
    if (op->fd < 0) return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
    skua_status status = uring_add_op(loop, op);
    if (status) (void)close(op->fd);
    return status;
}

static void uring_wake(io_op *op)
{
    uint64_t one = 1;
    ssize_t n = write(op->fd, &one, sizeof one);
    (void)n;
}

static void uring_start_op(io_loop *loop, io_op *op)
{
    skua_status status = SKUA_OK;
    if (!op->active) return; // cancelled before it began
    switch ((io_code)op->code) {
    case IO_FILE_OPEN:
    case IO_FILE_STAT:
    case IO_FILE_READ: disk_start(loop, op); return;
    case IO_WAKE: status = uring_add_wake(loop, op); break;
    case IO_ACCEPT:
    case IO_POLL: status = uring_add_op(loop, op); break;
    case IO_FILE_LOAD:
    case IO_RECVMSG:
    case IO_SENDMSG: status = SKUA_EUNSUPPORTED; break;
    }
    if (status) turn_op_failed(op, status);
}

static void uring_run_streams(io_loop *loop)
{
    turn_run_streams(loop, uring_stream_run);
}

static void uring_run(io_loop *loop)
{
    while (loop->pending || loop->pending_ops) {
        uring_run_streams(loop);
        io_op *op = turn_take_op(loop);
        if (op) uring_start_op(loop, op);
    }
}

static void uring_drain(io_loop *loop)
{
    uring_run(loop);
    uring_arm_ops(loop);
}

// ---- Accepting ----

// getpeername says nothing of a peer that has reset the connection by now; this call does, given
// the address's exact size.
static bool uring_read_lost_peer(int fd, struct sockaddr_storage *from)
{
    socklen_t in6 = sizeof(struct sockaddr_in6), in = sizeof(struct sockaddr_in);
    return getsockopt(fd, SOL_SOCKET, SO_PEERNAME, from, &in6) == 0 ||
           getsockopt(fd, SOL_SOCKET, SO_PEERNAME, from, &in) == 0;
}

static void uring_read_peer(const io_stream *stream, io_address *peer)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    if (getpeername(stream->fd, (struct sockaddr *)&from, &len) == 0 ||
        uring_read_lost_peer(stream->fd, &from))
        transfer_read_peer(peer, &from);
}

void uring_retry_accepts(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    kernel->turn.paused = false;
    kernel->unarmed = true;
    for (unsigned i = 0; i < URING_OPS_MAX; i++) {
        kernel->ops[i].refused = false;
        kernel->ops[i].spent = 0;
    }
}

// Whether a descriptor was closed for the accept that has failed, where that may use the reserve.
static bool uring_spends_reserve(const io_loop *loop, uring_op *entry, int error)
{
    return loop->accepts_from_reserve && reserve_spend_on_connection(error, entry->spent++);
}

// One that is not refused is armed again at the end of the turn.
static void uring_accept_failed(io_loop *loop, uring_op *entry, int error)
{
    io_op *op = entry->op;
    switch (turn_refused(error)) {
    case TURN_REFUSED_SCARCE:
        if (!uring_spends_reserve(loop, entry, error)) entry->refused = turn_pause(loop);
        return;
    case TURN_REFUSED_BROKEN:
        entry->op = NULL;
        turn_op_failed(op, SKUA_EIO);
        return;
    case TURN_REFUSED_NONE:
    case TURN_REFUSED_ONE: return;
    }
}

static void uring_accepted(io_loop *loop, uring_op *entry, int32_t res)
{
    io_op *op = entry->op;
    if (res < 0) {
        if (!entry->cancels) uring_accept_failed(loop, entry, -res);
        return;
    }
    entry->spent = 0;
    if (loop->accepts_from_reserve) (void)reserve_mend();
    // many are accepted at once, with room for one address only
    op->peer = (io_address){ .family = 0 };
    op->done(op, res);
    uring_run_streams(loop);
    bool armed = entry->op == op && entry->armed && !entry->cancels;
    if (armed && uring_holds_back(loop, entry)) uring_cancel_op(loop, entry);
}

// ---- Completions ----

// A cancellation may fail as a stream's may. The caller that waits for the end of an ACCEPT, or
// holds it back, cancels again.
static void uring_op_cancel_failed(io_loop *loop, const uring_cqe *cqe)
{
    uring_kernel *kernel = loop->kernel;
    uring_op *entry = &kernel->ops[cqe->user_data & (URING_OPS_MAX - 1)];
    entry->cancels = false;
    if (entry->armed && (!entry->op || entry->refused)) uring_cancel_op(loop, entry);
}

static void uring_op_completed(io_loop *loop, const uring_cqe *cqe)
{
    uring_kernel *kernel = loop->kernel;
    uring_op *entry = &kernel->ops[cqe->user_data & (URING_OPS_MAX - 1)];
    io_op *op = entry->op;
    if (!(cqe->flags & URING_CQE_MORE)) {
        entry->armed = false;
        kernel->unarmed = true;
        if (entry->code == IO_POLL) kernel->polls--;
    }
    if (!op) { // cancelled: what it carries is released
        if (entry->code == IO_ACCEPT && cqe->res >= 0) (void)close(cqe->res);
    } else if (entry->code == IO_ACCEPT) {
        uring_accepted(loop, entry, cqe->res);
    } else if (entry->code == IO_POLL) {
        if (!op->kept) entry->op = NULL; // else it is armed again in this turn, and looks anew
        op->active = op->kept;
        op->done(op, 0);
    } else if (cqe->res > 0) {
        op->done(op, 0);
    }
}

// Polls come first: a change of a directory is seen before the requests that came behind it. What
// one calls may enter the ring, and complete what is here: each is taken before it is told, and
// what was consumed meanwhile has no poll left.
static void uring_complete_polls(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    const uring_ring *ring = &kernel->ring;
    uint32_t tail = atomic_load_explicit(ring->cq_tail, memory_order_acquire);
    for (uint32_t i = atomic_load_explicit(ring->cq_head, memory_order_relaxed); i != tail; i++) {
        uring_cqe *cqe = &ring->cqes[i & ring->cq_mask];
        uint64_t slot = cqe->user_data & 0xffffff;
        if (cqe->user_data >> 24 != URING_OF_OP || kernel->ops[slot].code != IO_POLL) continue;
        uring_cqe poll = *cqe;
        cqe->user_data = URING_OF_NOTHING;
        uring_op_completed(loop, &poll);
    }
}

// Work that a completion has started is run before the next completion: a file that one request
// opens is there for the requests behind it.
static void uring_complete(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    uring_cqe cqe;
    if (kernel->polls) uring_complete_polls(loop);
    while (uring_ring_take(&kernel->ring, &cqe)) {
        uring_kind kind = (uring_kind)(cqe.user_data >> 24 & 0xff);
        if (kind == URING_OF_OP) uring_op_completed(loop, &cqe);
        else if (kind == URING_OF_OP_CANCEL) uring_op_cancel_failed(loop, &cqe);
        else if (kind != URING_OF_NOTHING) uring_stream_completed(loop, kind, &cqe);
        uring_run(loop);
    }
}

// ---- Cancelling ----

// Connections that the kernel has accepted already are delivered.
static void uring_end_accept(io_loop *loop, uring_op *entry)
{
    io_op *op = entry->op;
    op->active = true;
    while (entry->armed) {
        if (!entry->cancels) uring_cancel_op(loop, entry);
        if (uring_enter_once(loop, -1)) break;
        uring_complete(loop);
    }
    turn_accept_rest(loop, op, uring_stream_run);
}

static void uring_cancel(io_loop *loop, io_op *op)
{
    uring_kernel *kernel = loop->kernel;
    uring_op *entry = op->slot < URING_OPS_MAX ? &kernel->ops[op->slot] : NULL;
    if (!entry || entry->op != op) return;
    if (op->code == IO_ACCEPT) uring_end_accept(loop, entry);
    else if (entry->armed) uring_cancel_op(loop, entry);
    entry->op = NULL;
    if (op->code == IO_WAKE) (void)close(op->fd);
}

// ---- The turn ----

static void uring_flush(io_loop *loop)
{
    const uring_kernel *kernel = loop->kernel;
    if (kernel->ring.enabled && !kernel->dead && uring_ring_queued(&kernel->ring))
        uring_submit(loop);
}

// The memory of an abandoned ring stays until the loop is closed, as the kernel may still write to
// it.
static void uring_abandon(io_loop *loop)
{
    uring_kernel *kernel = loop->kernel;
    if (kernel->dead) return;
    uring_complete(loop); // sockets it has accepted are among these
    kernel->dead = true;
    kernel->send_count = 0;
    uring_files_drop_all(kernel);
    uring_close_unsubmitted(kernel);
    for (unsigned i = 0; i < URING_OPS_MAX; i++)
        kernel->ops[i].armed = false;
    uring_release_streams(loop);
}

static skua_status uring_turn_dead(io_loop *loop)
{
    turn_resume(loop);
    uring_run(loop);
    turn_clock(loop);
    return SKUA_EIO;
}

static skua_status uring_turn(io_loop *loop, int64_t timeout_ns)
{
    uring_kernel *kernel = loop->kernel;
    if (kernel->dead) return uring_turn_dead(loop);
    turn_resume(loop);
    uring_drain(loop);
    if (!kernel->ring.enabled) return SKUA_OK;
    skua_status status = uring_enter_once(loop, timeout_ns);
    turn_clock(loop);
    if (status) return status;
    uring_complete(loop);
    if (kernel->turn.paused && loop->now_ns >= kernel->turn.retry_ns) uring_retry_accepts(loop);
    uring_drain(loop);
    return SKUA_OK;
}

const io_backend io_backend_uring = {
    .name = "uring",
    .open = uring_open,
    .settle = uring_settle,
    .kick_later = turn_kick_later,
    .turn = uring_turn,
    .close = uring_close,
    .cancel = uring_cancel,
    .connect = turn_connect,
    .wake = uring_wake,
    .discard = turn_discard,
    .peer = uring_read_peer,
    .unsent = transfer_unsent,
    .send_now = transfer_send_now,
    .has_input = uring_stream_has_input,
    .flush = uring_flush,
    .abandon = uring_abandon,
    .probe = uring_ring_probe,
};

#endif
