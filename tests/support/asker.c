// SPDX-License-Identifier: MIT
//
// A small client inside a worker.

#include "support/asker.h"

#include "base/assert.h"
#include "server/connection.h"

// The object in the worker's pool. The asking itself is the test's.
typedef struct asker {
    endpoint end; // first
    asking *of;
} asker;

_Static_assert(sizeof(asker) <= sizeof(connection), "it fits into the worker's pool");

static asking *asking_of(io_stream *stream)
{
    return ((asker *)(void *)stream)->of;
}

static void asking_close(asking *a)
{
    SKUA_ASSERT(!(a->end->stream.flags & IO_WANT_CLOSE));
    io_deadline_remove(&a->worker->self.loop.timers, &a->end->deadline);
    io_close(&a->worker->self.loop, &a->end->stream);
    out_deinit(&a->out);
}

static void asking_tell(asking *a, asking_outcome outcome)
{
    SKUA_ASSERT(a->outcome == ASKING_GOES_ON);
    a->outcome = outcome;
    if (a->told) a->told(a);
}

// The connection ends, which is the outcome unless there has been one.
static void asking_fail(asking *a, asking_outcome outcome)
{
    asking_close(a);
    if (!a->resting) asking_tell(a, outcome);
}

// ---- What the loop tells ----

static void asker_connected(io_stream *stream, skua_status status)
{
    asking *a = asking_of(stream);
    SKUA_ASSERT(!a->connected && !a->refusal);
    a->connected = status == SKUA_OK;
    a->refusal = status;
    if (status) asking_fail(a, ASKING_REFUSED);
}

// A server that drains keeps nothing for later.
static void asking_rest(asking *a)
{
    a->resting = true;
    io_deadline_unset(&a->end->deadline);
    if (a->worker->self.disk.draining) asking_close(a);
    asking_tell(a, ASKING_ANSWERED);
}

static void asker_received(io_stream *stream, char *octets, size_t len)
{
    asking *a = asking_of(stream);
    SKUA_ASSERT(a->connected && a->got_octets + len <= a->wanted);
    memcpy(a->got + a->got_octets, octets, len);
    a->got_octets += len;
    if (a->got_octets == a->wanted) asking_rest(a);
}

static void asker_ended(io_stream *stream, io_end how)
{
    SKUA_ASSERT(how != IO_END_NEAR); // it always receives
    asking_fail(asking_of(stream), how == IO_END_FIN ? ASKING_ENDED : ASKING_RESET);
}

static void asker_kicked(io_stream *stream)
{
    (void)stream;
    SKUA_ASSERT(!"nobody kicks it");
}

static void asker_sent(io_stream *stream, uint64_t n)
{
    SKUA_ASSERT(asking_of(stream)->connected && n > 0);
}

static void asker_closed(io_stream *stream)
{
    asking *a = asking_of(stream);
    a->end = NULL;
    pool_give(&a->worker->connections, stream);
}

// ---- What the worker tells ----

static void asker_timed_out(endpoint *end)
{
    asking_fail(asking_of(&end->stream), ASKING_TIMED_OUT);
}

static void asker_hurry(endpoint *end)
{
    asking *a = asking_of(&end->stream);
    if (a->resting && !(end->stream.flags & IO_WANT_CLOSE)) asking_close(a);
}

static void asker_abort(endpoint *end)
{
    if (!(end->stream.flags & IO_WANT_CLOSE)) asking_fail(asking_of(&end->stream), ASKING_ABORTED);
}

static const endpoint_role asker_role = {
    .events = { .connected = asker_connected,
                .received = asker_received,
                .ended = asker_ended,
                .kicked = asker_kicked,
                .sent = asker_sent,
                .send_failed = asker_kicked,
                .closed = asker_closed },
    .timed_out = asker_timed_out,
    .hurry = asker_hurry,
    .abort = asker_abort,
};

// ---- Asking ----

bool asking_begin(asking *a, server_worker *w, const socket_address *to, slice request,
                  int64_t timeout_ns)
{
    io_loop *loop = &w->self.loop;
    loop->events[ENDPOINT_CLIENT] = &asker_role.events;
    asker *taken = pool_take(&w->connections);
    if (!taken) return false;
    taken->of = a;
    a->worker = w;
    a->end = &taken->end;
    out_init(&a->out, &w->self.blocks, a->segments, ASKING_SEGMENTS);
    a->end->stream.out = &a->out;
    io_stream_connect(loop, &a->end->stream, ENDPOINT_CLIENT, to);
    io_deadline_set(&loop->timers, &a->end->deadline, timeout_ns);
    io_recv(loop, &a->end->stream);
    if (!out_copy(&a->out, request)) {
        asking_drop(a);
        return false;
    }
    io_send(loop, &a->end->stream);
    return true;
}

void asking_drop(asking *a)
{
    a->told = NULL;
    if (a->end && !(a->end->stream.flags & IO_WANT_CLOSE)) asking_close(a);
}

bool asking_is_over(const asking *a)
{
    return !a->end;
}
