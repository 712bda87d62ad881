// SPDX-License-Identifier: MIT
//
// The kqueue backend: how the BSDs and macOS wait for readiness. Registrations are kept and go with
// the next kevent, so that a turn is one system call; what the kernel refuses comes back as an
// event of its own.

#include "io/io.h"

#include "base/memory.h"

#ifdef IO_HAS_KQUEUE

#include "io/readiness.h"
#include "io/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/event.h>
#include <time.h>
#include <unistd.h>

// There is room for as many events as changes: a change that failed takes the place of an event,
// and a kevent without room for it fails altogether.
enum { KQUEUE_EVENTS = 256, KQUEUE_CHANGES = KQUEUE_EVENTS };

_Static_assert(sizeof(void *) >= sizeof(uint64_t), "udata holds a slot and its generation");

typedef struct kqueue_kernel {
    readiness readiness; // first
    int fd;
    int change_count;
    struct kevent changes[KQUEUE_CHANGES];
    struct kevent events[KQUEUE_EVENTS];
    struct kevent receipts[KQUEUE_CHANGES];
} kqueue_kernel;

// ---- Changes ----

// The key of a change whose failure concerns nobody: what it deletes may have gone with its
// descriptor.
static const uint64_t kqueue_nobody = UINT32_MAX;

// udata points to nothing: it is a number that is handed back.
static uint64_t kqueue_key(const struct kevent *event)
{
    return (uint64_t)(uintptr_t)event->udata;
}

static struct kevent kqueue_make(uintptr_t ident, int filter, unsigned flags, uint64_t key)
{
    return (struct kevent){
        .ident = ident,
        .filter = (short)filter,
        .flags = (unsigned short)flags,
        .udata = (void *)(uintptr_t)key,
    };
}

// More changes in a turn than there is room for. Asked for receipts, kevent hands back no events:
// those are for the turn to take. What failed stays, to fail again where it can be told of.
static void kqueue_flush(kqueue_kernel *kernel)
{
    static const struct timespec at_once;
    for (int i = 0; i < kernel->change_count; i++)
        kernel->changes[i].flags |= EV_RECEIPT;
    int n = kevent(kernel->fd, kernel->changes, kernel->change_count, kernel->receipts,
                   KQUEUE_CHANGES, &at_once);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (kernel->receipts[i].data == 0 || kqueue_key(&kernel->changes[i]) == kqueue_nobody)
            continue;
        kernel->changes[kept] = kernel->changes[i];
        kernel->changes[kept++].flags &= (unsigned short)~EV_RECEIPT;
    }
    kernel->change_count = kept;
}

// Returns false if there is no room, which takes as many failures.
static bool kqueue_change(kqueue_kernel *kernel, struct kevent change)
{
    if (kernel->change_count == KQUEUE_CHANGES) kqueue_flush(kernel);
    if (kernel->change_count == KQUEUE_CHANGES) return false;
    kernel->changes[kernel->change_count++] = change;
    return true;
}

// ---- What is waited for ----

static bool kqueue_join(io_loop *loop, io_stream *stream)
{
    uint64_t key = readiness_stream_key(stream);
    return kqueue_change(loop->kernel,
                         kqueue_make((uintptr_t)stream->fd, EVFILT_READ, EV_ADD | EV_CLEAR, key));
}

// Most connections always find room to send: they never ask.
static bool kqueue_join_out(io_loop *loop, io_stream *stream)
{
    if (stream->flags & IO_REGISTERED_OUT) return true;
    stream->flags |= IO_REGISTERED_OUT;
    uint64_t key = readiness_stream_key(stream);
    return kqueue_change(loop->kernel,
                         kqueue_make((uintptr_t)stream->fd, EVFILT_WRITE, EV_ADD | EV_CLEAR, key));
}

// The kernel drops what is registered when the descriptor is closed. What is still to be registered
// must be dropped here, as the number may be another connection's by then.
static void kqueue_leave(io_loop *loop, io_stream *stream)
{
    kqueue_kernel *kernel = loop->kernel;
    uint64_t key = readiness_stream_key(stream);
    int kept = 0;
    for (int i = 0; i < kernel->change_count; i++) {
        if (kqueue_key(&kernel->changes[i]) != key) kernel->changes[kept++] = kernel->changes[i];
    }
    kernel->change_count = kept;
}

static struct kevent kqueue_op_change(const io_op *op, unsigned flags, uint64_t key)
{
    if (op->code == IO_WAKE) return kqueue_make(op->slot, EVFILT_USER, flags | EV_CLEAR, key);
    return kqueue_make((uintptr_t)op->fd, EVFILT_READ, flags, key);
}

static skua_status kqueue_watch(io_loop *loop, io_op *op)
{
    kqueue_kernel *kernel = loop->kernel;
    if (op->code == IO_WAKE) op->fd = kernel->fd; // for kqueue_wake, on any thread
    return kqueue_change(kernel, kqueue_op_change(op, EV_ADD, op->slot)) ? SKUA_OK : SKUA_ENOMEM;
}

static void kqueue_forget(io_loop *loop, io_op *op)
{
    (void)kqueue_change(loop->kernel, kqueue_op_change(op, EV_DELETE, kqueue_nobody));
}

static void kqueue_mute(io_loop *loop, io_op *op, bool mute)
{
    (void)kqueue_change(loop->kernel,
                        kqueue_op_change(op, mute ? EV_DISABLE : EV_ENABLE, op->slot));
}

static bool kqueue_woken(io_op *op)
{
    (void)op; // EV_CLEAR did it
    return true;
}

static void kqueue_wake(io_op *op)
{
    struct kevent trigger = kqueue_make(op->slot, EVFILT_USER, 0, op->slot);
    trigger.fflags = NOTE_TRIGGER;
    (void)kevent(op->fd, &trigger, 1, NULL, 0, NULL);
}

static const readiness_poller kqueue_poller = {
    .join = kqueue_join,
    .join_out = kqueue_join_out,
    .leave = kqueue_leave,
    .watch = kqueue_watch,
    .forget = kqueue_forget,
    .mute = kqueue_mute,
    .woken = kqueue_woken,
};

// ---- Life ----

static skua_status kqueue_open(io_loop *loop)
{
    kqueue_kernel *kernel = memory_zeroed(sizeof *kernel);
    if (!kernel) return SKUA_ENOMEM;
    kernel->fd = kqueue();
    if (kernel->fd < 0) {
        skua_status status = errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
        memory_free(kernel);
        return status;
    }
    (void)fcntl(kernel->fd, F_SETFD, FD_CLOEXEC);
    readiness_open(loop, &kernel->readiness, &kqueue_poller);
    return SKUA_OK;
}

static void kqueue_close(io_loop *loop)
{
    kqueue_kernel *kernel = loop->kernel;
    (void)close(kernel->fd);
    memory_free(kernel);
    loop->kernel = NULL;
}

// ---- The turn ----

// The end of the sending side is our own shutdown, unless an error comes with it.
static unsigned kqueue_ready(const struct kevent *event)
{
    bool ended = event->flags & EV_EOF;
    unsigned error = ended && event->fflags ? READY_END | READY_ERROR : 0;
    if (event->filter == EVFILT_WRITE) return READY_OUT | error;
    return READY_IN | (ended ? READY_END : 0) | error;
}

static void kqueue_tell(io_loop *loop, const struct kevent *event)
{
    if (event->flags & EV_ERROR) {
        if (kqueue_key(event) != kqueue_nobody) readiness_refuse(loop, kqueue_key(event));
    } else {
        readiness_tell(loop, kqueue_key(event), kqueue_ready(event));
    }
}

static int kqueue_wait(kqueue_kernel *kernel, int64_t timeout_ns)
{
    struct timespec timeout = { .tv_sec = (time_t)(timeout_ns / 1000000000),
                                .tv_nsec = (long)(timeout_ns % 1000000000) };
    const struct timespec *most = timeout_ns < 0 ? NULL : &timeout;
    int n = kevent(kernel->fd, kernel->changes, kernel->change_count, kernel->events, KQUEUE_EVENTS,
                   most);
    kernel->change_count = 0; // applied also when a signal ended the wait
    return n;
}

static skua_status kqueue_turn(io_loop *loop, int64_t timeout_ns)
{
    kqueue_kernel *kernel = loop->kernel;
    readiness_begin(loop);
    int n = kqueue_wait(kernel, readiness_wait_ns(loop, timeout_ns));
    int error = errno;
    turn_clock(loop);
    if (n < 0 && error != EINTR) return SKUA_EIO;
    for (int i = 0; i < n; i++) {
        if (!(kernel->events[i].flags & EV_ERROR))
            readiness_tell_poll(loop, kqueue_key(&kernel->events[i]));
    }
    for (int i = 0; i < n; i++)
        kqueue_tell(loop, &kernel->events[i]);
    readiness_end(loop);
    return SKUA_OK;
}

static int kqueue_fd(const io_loop *loop)
{
    const kqueue_kernel *kernel = loop->kernel;
    return kernel->fd;
}

static void kqueue_hand_over(io_loop *loop)
{
    kqueue_kernel *kernel = loop->kernel;
    if (kernel->change_count) kqueue_flush(kernel);
}

// Changes that could not be handed over are work: the next turn tells the kernel of them.
static int64_t kqueue_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    const kqueue_kernel *kernel = loop->kernel;
    return kernel->change_count ? 0 : readiness_wait_ns(loop, timeout_ns);
}

const io_backend io_backend_kqueue = {
    .name = "kqueue",
    .open = kqueue_open,
    .kick_later = turn_kick_later,
    .turn = kqueue_turn,
    .close = kqueue_close,
    .cancel = readiness_cancel,
    .connect = turn_connect,
    .wake = kqueue_wake,
    .discard = turn_discard,
    .unsent = transfer_unsent,
    .send_at_once = turn_send_at_once,
    .send_now = transfer_send_now,
    .has_input = turn_has_input,
    .fd = kqueue_fd,
    .wait_ns = kqueue_wait_ns,
    .flush = kqueue_hand_over,
};

#endif
