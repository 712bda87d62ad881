// SPDX-License-Identifier: MIT
//
// The echo server, and what its callbacks may count on.

#include "support/echo.h"

#include "base/assert.h"
#include "support/tables.h"

enum { ECHO_OUT_LOW = 4000, ECHO_TURNS_MAX = 200000 };

static echo_bench *the_bench;

static echo_bench *bench_of(const io_stream *stream)
{
    SKUA_ASSERT(stream);
    return the_bench;
}

// ---- The echo server ----

void echo_close(echo_bench *b, echo *e)
{
    if (e->closing) return;
    e->closing = true;
    io_close(&b->loop, &e->stream);
}

static void echo_received(io_stream *stream, char *octets, size_t len)
{
    echo_bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    SKUA_ASSERT(!(e->closing || e->fin_told || e->reset_told));
    SKUA_ASSERT(stream->flags & IO_WANT_RECV);
    SKUA_ASSERT(len > 0 && len <= IO_RECV_OCTETS);
    if (!out_copy(&e->out, slice_make(octets, len))) {
        echo_close(b, e);
        return;
    }
    memset(octets, 'x', len); // lent writable
    io_send(&b->loop, stream);
    if (e->out.octets > ECHO_OUT_HIGH || out_is_full(&e->out)) io_recv_stop(stream);
    if (len % 7 == 0) io_kick(&b->loop, stream);
}

static void echo_ended(io_stream *stream, io_end how)
{
    echo_bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    SKUA_ASSERT(!(e->closing || e->reset_told));
    switch (how) {
    case IO_END_NEAR:
        SKUA_ASSERT(!(e->near_told || e->fin_told));
        SKUA_ASSERT(!(stream->flags & IO_WANT_RECV));
        e->near_told = true;
        break;
    case IO_END_FIN:
        SKUA_ASSERT(!e->fin_told);
        e->fin_told = true;
        if (e->out.octets) io_shutdown(&b->loop, stream);
        else echo_close(b, e);
        break;
    case IO_END_RESET:
        e->reset_told = true;
        echo_close(b, e);
        break;
    }
}

static void echo_kicked(io_stream *stream)
{
    SKUA_ASSERT(!((echo *)(void *)stream)->closing);
    bench_of(stream)->kicks++;
}

static void echo_sent(io_stream *stream, uint64_t n)
{
    echo_bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    SKUA_ASSERT(n > 0 || (stream->flags & IO_WANT_SEND));
    SKUA_ASSERT(!(e->closing || e->reset_told));
    SKUA_ASSERT(((stream->flags & IO_WANT_SEND) == 0) == (e->out.octets == 0));
    if (e->fin_told && e->out.octets == 0) echo_close(b, e);
    else if (!e->fin_told && e->out.octets < ECHO_OUT_LOW && !b->stingy) io_recv(&b->loop, stream);
}

static void echo_send_failed(io_stream *stream)
{
    echo_close(bench_of(stream), (echo *)(void *)stream);
}

static void echo_closed(io_stream *stream)
{
    echo_bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    SKUA_ASSERT(e->closing);
    io_deadline_remove(&b->loop.timers, &e->deadline);
    out_deinit(&e->out);
    pool_give(&b->echoes, e);
    b->closed++;
    if (b->last == e) b->last = NULL;
}

static void echo_connected(io_stream *stream, skua_status status)
{
    echo_bench *b = bench_of(stream);
    echo *e = (echo *)(void *)stream;
    SKUA_ASSERT(!(e->closing || e->connected));
    e->connected = true;
    if (status) {
        b->refused++;
        echo_close(b, e);
        return;
    }
    b->connected++;
    io_recv(&b->loop, stream);
}

static void accepted_expect(const io_stream *stream)
{
    SKUA_ASSERT(!((const echo *)(const void *)stream)->connects);
}

static void connecting_expect(const io_stream *stream)
{
    SKUA_ASSERT(((const echo *)(const void *)stream)->connects);
}

TABLE_OF_EVENTS(accepted, echo, NULL);
TABLE_OF_EVENTS(connecting, echo, echo_connected);

static void echo_accepted(io_op *op, int64_t result)
{
    echo_bench *b = op->user;
    SKUA_ASSERT(result >= 0);
    SKUA_ASSERT(op->peer.family == 4);
    SKUA_ASSERT(op->active);
    b->accepted++;
    echo *e = pool_take(&b->echoes);
    if (!e) {
        b->loop.backend->discard(&b->loop, (int)result);
        return;
    }
    out_init(&e->out, &b->store, e->segments, ECHO_SEGMENTS);
    io_stream_open(&e->stream, (int)result);
    e->stream.out = &e->out;
    b->last = e;
    if (b->stingy) io_kick(&b->loop, &e->stream);
    else io_recv(&b->loop, &e->stream);
}

static bool bench_evict(io_loop *loop)
{
    echo_bench *b = loop->owner;
    b->evictions++;
    return false;
}

static void bench_fired(io_deadline *deadline, void *user)
{
    (void)deadline;
    ((echo_bench *)user)->timeouts++;
}

// ---- The bench ----

void echo_open(echo_bench *b, const sim_config *config)
{
    *b = (echo_bench){ .accepted = 0 };
    the_bench = b;
    pool_init(&b->echoes, (sizeof(echo) + 15) / 16 * 16, 1000);
    block_store_init(&b->store, 4);
    b->kernel = sim_kernel_new(config);
    SKUA_ASSERT(b->kernel);
    b->loop.events[0] = &accepted_events;
    b->loop.events[ECHO_CONNECTS] = &connecting_events;
    b->loop.streams = &b->echoes;
    b->loop.owner = b;
    b->loop.evict = bench_evict;
    b->loop.send_turn_octets_max = 50000;
    b->loop.kernel = b->kernel;
    SKUA_ASSERT(io_loop_open(&b->loop, &io_backend_sim) == SKUA_OK);
    io_timers_init(&b->loop.timers, b->loop.now_ns, bench_fired, b);
    b->accept =
        (io_op){ .code = IO_ACCEPT, .done = echo_accepted, .user = b, .fd = sim_listen(b->kernel) };
    SKUA_ASSERT(b->accept.fd >= 0);
    io_submit(&b->loop, &b->accept);
}

void echo_turn(echo_bench *b, int64_t timeout_ns)
{
    SKUA_ASSERT(io_turn(&b->loop, timeout_ns) == SKUA_OK);
}

void echo_settle(echo_bench *b)
{
    int turns = 0;
    do {
        SKUA_ASSERT(++turns < ECHO_TURNS_MAX);
        echo_turn(b, -1);
    } while (!sim_is_quiet(b->kernel));
}

void echo_finish(echo_bench *b)
{
    io_cancel(&b->loop, &b->accept);
    SKUA_ASSERT(b->echoes.in_use == 0);
    SKUA_ASSERT(b->store.out_count == 0);
    SKUA_ASSERT(sim_sockets_open(b->kernel) == 0);
    SKUA_ASSERT(sim_files_open(b->kernel) == 0);
    io_loop_close(&b->loop);
    sim_kernel_free(b->kernel);
    block_store_deinit(&b->store);
    pool_deinit(&b->echoes);
    the_bench = NULL;
}

sim_client *echo_connect(echo_bench *b)
{
    sim_client *client = sim_connect(b->kernel, b->accept.fd);
    SKUA_ASSERT(client);
    return client;
}

echo *echo_connect_out(echo_bench *b, const socket_address *to)
{
    echo *e = pool_take(&b->echoes);
    SKUA_ASSERT(e);
    out_init(&e->out, &b->store, e->segments, ECHO_SEGMENTS);
    e->stream.out = &e->out;
    e->connects = true;
    io_stream_connect(&b->loop, &e->stream, ECHO_CONNECTS, to);
    SKUA_ASSERT(!e->connected); // never from within the submission
    return e;
}
