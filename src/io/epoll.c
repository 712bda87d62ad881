// SPDX-License-Identifier: MIT
//
// The epoll backend: Linux's way to wait for readiness, edge-triggered.

#include "io/io.h"

#include "base/memory.h"

#ifdef __linux__

#include "io/readiness.h"
#include "io/transfer.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EPOLL_EVENTS = 256 };

typedef struct epoll_kernel {
    readiness readiness; // first
    int fd;
    bool is_coarse; // there is no epoll_pwait2
    struct epoll_event events[EPOLL_EVENTS];
} epoll_kernel;

// ---- What is waited for ----

// Everything is asked for at once, so that it never has to be changed.
static bool epoll_join(io_loop *loop, io_stream *stream)
{
    const epoll_kernel *kernel = loop->kernel;
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
        .data.u64 = readiness_stream_key(stream),
    };
    return epoll_ctl(kernel->fd, EPOLL_CTL_ADD, stream->fd, &event) == 0;
}

static skua_status epoll_open_wake(io_op *op)
{
    op->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (op->fd >= 0) return SKUA_OK;
    return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
}

static skua_status epoll_watch(io_loop *loop, io_op *op)
{
    const epoll_kernel *kernel = loop->kernel;
    skua_status status = op->code == IO_WAKE ? epoll_open_wake(op) : SKUA_OK;
    if (status) return status;
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = op->slot };
    if (epoll_ctl(kernel->fd, EPOLL_CTL_ADD, op->fd, &event) == 0) return SKUA_OK;
    if (op->code == IO_WAKE) (void)close(op->fd);
    return SKUA_ENOMEM;
}

static void epoll_forget(io_loop *loop, io_op *op)
{
    const epoll_kernel *kernel = loop->kernel;
    (void)epoll_ctl(kernel->fd, EPOLL_CTL_DEL, op->fd, NULL);
    if (op->code == IO_WAKE) (void)close(op->fd);
}

static void epoll_mute(io_loop *loop, io_op *op, bool mute)
{
    const epoll_kernel *kernel = loop->kernel;
    struct epoll_event event = { .events = mute ? 0 : EPOLLIN, .data.u64 = op->slot };
    (void)epoll_ctl(kernel->fd, EPOLL_CTL_MOD, op->fd, &event);
}

static bool epoll_woken(io_op *op)
{
    uint64_t count;
    return read(op->fd, &count, sizeof count) == (ssize_t)sizeof count;
}

static void epoll_wake(io_op *op)
{
    uint64_t one = 1;
    ssize_t n = write(op->fd, &one, sizeof one); // full means that a wake-up is under way already
    (void)n;
}

static const readiness_poller epoll_poller = {
    .join = epoll_join,
    .watch = epoll_watch,
    .forget = epoll_forget,
    .mute = epoll_mute,
    .woken = epoll_woken,
};

// ---- Life ----

__attribute__((cold)) static skua_status epoll_open(io_loop *loop)
{
    epoll_kernel *kernel = memory_zeroed(sizeof *kernel);
    if (!kernel) return SKUA_ENOMEM;
    kernel->fd = epoll_create1(EPOLL_CLOEXEC);
    if (kernel->fd < 0) {
        memory_free(kernel);
        return errno == EMFILE || errno == ENFILE ? SKUA_ENOFILE : SKUA_ENOMEM;
    }
    readiness_open(loop, &kernel->readiness, &epoll_poller);
    return SKUA_OK;
}

static void epoll_close(io_loop *loop)
{
    epoll_kernel *kernel = loop->kernel;
    (void)close(kernel->fd);
    memory_free(kernel);
    loop->kernel = NULL;
}

// ---- The turn ----

static unsigned epoll_ready(uint32_t events)
{
    unsigned ready = 0;
    if (events == (EPOLLIN | EPOLLOUT)) return READY_IN | READY_OUT; // most
    if (events & EPOLLIN) ready |= READY_IN;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) ready |= READY_OUT;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) ready |= READY_END;
    if (events & EPOLLERR) ready |= READY_ERROR;
    return ready;
}

static int epoll_fd(const io_loop *loop)
{
    const epoll_kernel *kernel = loop->kernel;
    return kernel->fd;
}

// Waits to the nanosecond where the kernel can (Linux 5.11). Where it cannot, or a filter of system
// calls does not know the call, is_coarse is set.
static int epoll_wait_precisely(epoll_kernel *kernel, int64_t timeout_ns)
{
#ifdef SYS_epoll_pwait2
    // The kernel's own layout, on every architecture.
    const struct {
        int64_t seconds, nanoseconds;
    } timeout = { timeout_ns / 1000000000, timeout_ns % 1000000000 };
    long n = syscall(SYS_epoll_pwait2, kernel->fd, kernel->events, EPOLL_EVENTS, &timeout, NULL,
                     (size_t)0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) kernel->is_coarse = true;
    return (int)n;
#else
    (void)timeout_ns;
    kernel->is_coarse = true;
    return -1;
#endif
}

static int epoll_wait_coarsely(epoll_kernel *kernel, int64_t timeout_ns)
{
    int64_t ms = timeout_ns < 0 ? -1 : (timeout_ns + 999999) / 1000000;
    return epoll_wait(kernel->fd, kernel->events, EPOLL_EVENTS, ms > 60000 ? 60000 : (int)ms);
}

// Deadlines of connections are coarse; only alarms, when there are any, ask for precision.
static int epoll_wait_events(const io_loop *loop, int64_t timeout_ns)
{
    epoll_kernel *kernel = loop->kernel;
    if (timeout_ns > 0 && loop->alarms.count && !kernel->is_coarse) {
        int n = epoll_wait_precisely(kernel, timeout_ns);
        if (!kernel->is_coarse) return n;
    }
    return epoll_wait_coarsely(kernel, timeout_ns);
}

static void epoll_tell_polls(io_loop *loop, int n)
{
    const epoll_kernel *kernel = loop->kernel;
    for (int i = 0; i < n; i++) {
        uint64_t key = kernel->events[i].data.u64;
        if (key < READINESS_OPS_MAX) readiness_tell_poll(loop, key);
    }
}

static skua_status epoll_turn(io_loop *loop, int64_t timeout_ns)
{
    epoll_kernel *kernel = loop->kernel;
    readiness_begin(loop);
    int n = epoll_wait_events(loop, readiness_wait_ns(loop, timeout_ns));
    int error = errno;
    turn_clock(loop);
    if (n < 0 && error != EINTR) return SKUA_EIO;
    if (kernel->readiness.polls) epoll_tell_polls(loop, n);
    for (int i = 0; i < n; i++) {
        readiness_tell(loop, kernel->events[i].data.u64, epoll_ready(kernel->events[i].events));
    }
    readiness_end(loop);
    return SKUA_OK;
}

const io_backend io_backend_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .kick_later = turn_kick_later,
    .turn = epoll_turn,
    .close = epoll_close,
    .cancel = readiness_cancel,
    .connect = turn_connect,
    .wake = epoll_wake,
    .discard = turn_discard,
    .unsent = transfer_unsent,
    .send_at_once = turn_send_at_once,
    .send_now = transfer_send_now,
    .has_input = turn_has_input,
    .fd = epoll_fd,
    .wait_ns = readiness_wait_ns,
};

#endif
