// SPDX-License-Identifier: MIT
//
// The loop: what every backend shares.

#include "io/io.h"

#include "base/assert.h"

#include <string.h>
#include <time.h>

enum { LOOP_FLUSH_TURNS_MAX = 64 };

// The shorter of two waits; -1 is for ever.
static int64_t loop_shorter_ns(int64_t a, int64_t b)
{
    if (a < 0) return b;
    return b < 0 || a < b ? a : b;
}

// The backends that this system has, in the order of preference. One that can be refused is
// followed by one that cannot, in a ring.
static const io_backend *const io_backends[] = {
#ifdef IO_HAS_KQUEUE
    &io_backend_kqueue,
#endif
#ifdef __linux__
    &io_backend_uring,
    &io_backend_epoll,
#endif
};

enum { IO_BACKENDS = sizeof io_backends / sizeof *io_backends };

bool io_backend_is_auto(const char *name)
{
    return !name || strcmp(name, "auto") == 0;
}

const io_backend *io_backend_find(const char *name)
{
    if (io_backend_is_auto(name)) return io_backends[0];
    for (size_t i = 0; i < IO_BACKENDS; i++) {
        if (strcmp(io_backends[i]->name, name) == 0) return io_backends[i];
    }
    return NULL;
}

const io_backend *io_backend_instead(const io_backend *refused)
{
    if (!refused->probe) return NULL;
    size_t i = 0;
    while (io_backends[i] != refused)
        i++;
    return io_backends[(i + 1) % IO_BACKENDS];
}

// A turn with pending work does not wait: that work may set deadlines, or be what the caller's loop
// ends for.
static int64_t loop_wait_ns(const io_loop *loop, int64_t timeout_ns)
{
    if (loop->pending || loop->pending_ops) return 0;
    int64_t wait = loop_shorter_ns(timeout_ns, io_timers_wait_ns(&loop->timers, loop->now_ns));
    wait = loop_shorter_ns(wait, io_alarms_wait_ns(&loop->alarms, loop->now_ns));
    return wait < IO_WAIT_MAX_NS ? wait : IO_WAIT_MAX_NS;
}

int64_t io_wait_ns(const io_loop *loop)
{
    int64_t wait = loop_wait_ns(loop, -1);
    return loop->backend->wait_ns ? loop->backend->wait_ns(loop, wait) : wait;
}

int64_t io_clock_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

skua_status io_loop_open(io_loop *loop, const io_backend *backend)
{
    SKUA_ASSERT(loop->events[0]);
    SKUA_ASSERT(loop->streams);
    loop->backend = backend;
    loop->pending = NULL;
    loop->pending_tail = &loop->pending;
    loop->pending_ops = NULL;
    loop->pending_ops_tail = &loop->pending_ops;
    io_alarms_init(&loop->alarms, loop->owner);
    return backend->open(loop);
}

skua_status io_settle(io_loop *loop)
{
    return loop->backend->settle ? loop->backend->settle(loop) : SKUA_OK;
}

void io_loop_close(io_loop *loop)
{
    SKUA_ASSERT(loop->streams->in_use == 0);
    io_alarms_deinit(&loop->alarms);
    loop->backend->close(loop);
}

int64_t io_loop_clock_ns(const io_loop *loop)
{
    return loop->backend->clock_ns ? loop->backend->clock_ns(loop) : io_clock_ns();
}

void io_refresh(io_loop *loop)
{
    loop->now_ns = io_loop_clock_ns(loop);
    io_timers_clock(&loop->timers, loop->now_ns);
}

// A precise wait counts from now and not from when this loop last looked at the clock: callbacks
// take their time.
skua_status io_turn(io_loop *loop, int64_t timeout_ns)
{
    if (loop->alarms.count) io_refresh(loop);
    skua_status status = loop->backend->turn(loop, loop_wait_ns(loop, timeout_ns));
    io_timers_advance(&loop->timers, loop->now_ns);
    io_alarms_fire(&loop->alarms, loop->now_ns);
    return status;
}

void io_stream_connect(io_loop *loop, io_stream *stream, unsigned events, const socket_address *to)
{
    SKUA_ASSERT(events < IO_EVENTS_MAX);
    SKUA_ASSERT(loop->events[events] && loop->events[events]->connected);
    stream->flags = IO_READABLE | IO_CONNECTS | (uint32_t)events << IO_EVENTS_SHIFT;
    loop->backend->connect(loop, stream, to);
    io_push(loop, stream);
}

void io_abandon(io_loop *loop)
{
    if (loop->backend->abandon) loop->backend->abandon(loop);
}

// Each turn starts all that is pending; completions may ask for more, which a peer must not use to
// keep us here.
void io_flush(io_loop *loop)
{
    for (int i = 0; i < LOOP_FLUSH_TURNS_MAX && (loop->pending || loop->pending_ops); i++) {
        if (loop->backend->turn(loop, 0)) return;
    }
    if (loop->backend->flush) loop->backend->flush(loop);
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
