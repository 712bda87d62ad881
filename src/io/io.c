// SPDX-License-Identifier: MIT
//
// The loop: what every backend shares.

#include "io/io.h"

#include "base/assert.h"

#include <time.h>

// What is pending may set deadlines, or be what the caller's loop ends for: the turn that does it does
// not wait.
static int64_t loop_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    if (loop->pending || loop->pending_ops) return 0;
    int64_t timers = io_timers_wait_ns(&loop->timers, loop->now_ns);
    if (timers < 0) return timeout_ns;
    return timeout_ns < 0 || timers < timeout_ns ? timers : timeout_ns;
}

int64_t io_clock_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

skua_status io_loop_open(io_loop *loop, const io_backend *backend)
{
    SKUA_ASSERT(loop->events);
    SKUA_ASSERT(loop->streams);
    loop->backend = backend;
    loop->pending = NULL;
    loop->pending_tail = &loop->pending;
    loop->pending_ops = NULL;
    loop->pending_ops_tail = &loop->pending_ops;
    return backend->open(loop);
}

void io_loop_close(io_loop *loop)
{
    SKUA_ASSERT(loop->streams->in_use == 0);
    loop->backend->close(loop);
}

skua_status io_turn(io_loop *loop, int64_t timeout_ns)
{
    skua_status status = loop->backend->turn(loop, loop_wait_ns(loop, timeout_ns));
    io_timers_advance(&loop->timers, loop->now_ns);
    return status;
}

void io_cancel(io_loop *loop, io_op *op)
{
    if (!op->active) return;
    op->active = false;
    loop->backend->cancel(loop, op);
}

void io_wake(io_op *wake)
{
    wake->loop->backend->wake(wake);
}
