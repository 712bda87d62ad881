// SPDX-License-Identifier: MIT
//
// Parked connections. Everything else treats one as it does an idle connection, which has no session either.

#include "server/parking.h"

#ifndef SKUA_NO_WEBSOCKET

#include "base/assert.h"
#include "base/memory.h"
#include "h1/protocol.h"
#include "h1/tunnel.h"
#include "h2/protocol.h"
#include "h2/tunnel.h"
#include "server/secure.h"
#include "server/transported.h"
#include "ws/parked_send.h"

enum { PARKING_TRIM_OCTETS = 1 << 20, PARKING_REST_OCTETS = 1 << 16 };

static void parking_await(connection *conn, int64_t due_ns)
{
    io_loop *loop = &conn->worker->self.loop;
    if (due_ns == INT64_MAX) io_deadline_unset(&conn->deadline);
    else io_deadline_set(&loop->timers, &conn->deadline, due_ns - loop->now_ns);
}

// A transport rests when all has left that it has put on the wire, also for itself.
static bool parking_is_sent(const connection *conn)
{
    return !conn->has_transport || !transport_of(&conn->stream)->wire.octets;
}

static void parking_forget_session(connection *conn)
{
    conn->session = NULL;
    if (!conn->has_transport) conn->stream.out = NULL;
}

static void parking_park(io_stream *stream)
{
    connection *conn = connection_of(stream);
    session *s = conn->session;
    skua_request *r = parking_is_sent(conn) ? h1_tunnel_request(s) : NULL;
    ws_parked *parked = r ? ws_park(r) : NULL;
    if (!parked) {
        s->looks_anew = h1_tunnel_rests(s);
        return;
    }
    parked->on.stream = stream;
    h1_tunnel_end(s);
    parking_forget_session(conn);
    if (conn->has_transport) transported_rest(conn);
    conn->parked = parked;
    conn->is_parked = true;
    parking_await(conn, ws_parked_due_ns(parked));
    worker_free_rest(&conn->worker->self);
}

static void parking_counts(const ws_parked *parked, uint64_t counts[MEMO_COUNTS])
{
    memset(counts, 0, MEMO_COUNTS * sizeof *counts);
    const memo_more *more = parked->memo.more;
    if (more) memcpy(counts, more->counts, MEMO_COUNTS * sizeof *counts);
}

// Returns: the request of the tunnel; NULL when memory ran out, and there is no session then.
static skua_request *parking_begin(connection *conn, ws_parked *parked)
{
    session *s = h1_protocol.begin(&conn->worker->self);
    if (!s) return NULL;
    connection_adopt(conn, s);
    uint64_t counts[MEMO_COUNTS];
    parking_counts(parked, counts);
    skua_request *r = h1_tunnel_begin(s, &parked->memo);
    if (r && ws_unpark(parked, r, counts)) return r;
    return NULL;
}

__attribute__((cold)) static void parking_lose(connection *conn, ws_parked *parked)
{
    session *s = conn->session;
    ws_parked_lose(parked, &conn->worker->self);
    parking_forget_session(conn);
    if (s) h1_protocol.end(s, SKUA_END_ERROR);
    connection_abort(conn, SKUA_END_ERROR);
}

static bool parking_unpark(io_stream *stream)
{
    connection *conn = connection_of(stream);
    SKUA_ASSERT(conn->is_parked && !conn->session);
    ws_parked *parked = conn->parked;
    conn->is_parked = false;
    conn->parked = NULL;
    if (parking_begin(conn, parked)) return true;
    parking_lose(conn, parked);
    return false;
}

static bool parking_unpark_to_read(io_stream *stream)
{
    const connection *conn = connection_of(stream);
    bool full = worker_is_short(&conn->worker->self, BUDGET_FULL);
    if (!parking_unpark(stream)) return false;
    skua_request *r = full ? h1_tunnel_request(conn->session) : NULL;
    if (r) ws_unparked_shed(r);
    return true;
}

static bool parking_unpark_to_use(const ws_parked *parked)
{
#ifndef SKUA_NO_HTTP2
    if (parked->is_carried) return h2_tunnel_use(parked->on.carrier);
#endif
    return parking_unpark(parked->on.stream);
}

#ifndef SKUA_NO_HTTP2

// ---- Streams ----

static ws_parked *parking_park_stream(skua_request *r)
{
    carrier *c = r->carrier;
    ws_parked *parked = ws_park(r);
    if (!parked) return NULL;
    parked->is_carried = true;
    parked->on.carrier = c;
    worker_free_rest(c->session->worker);
    return parked;
}

// The request may have been made when there is no memory for the rest: it ends with the stream.
static bool parking_unpark_stream(ws_parked *parked, bool reads)
{
    carrier *c = parked->on.carrier;
    skua_worker *w = c->session->worker;
    bool full = reads && worker_is_short(w, BUDGET_FULL);
    bool is_closing = parked->is_closing;
    uint64_t counts[MEMO_COUNTS];
    parking_counts(parked, counts);
    skua_request *r = c->current = memo_recall(&parked->memo, w, c);
    if (!r || !ws_unpark(parked, r, counts)) {
        ws_parked_lose(parked, w);
        return false;
    }
    if (is_closing) ws_unparked_give_up(r);
    else if (full) ws_unparked_shed(r);
    return true;
}

static void parking_stop_streams(const connection *conn)
{
    if (conn->session && conn->session->protocol == &h2_protocol)
        h2_tunnel_stop(conn->session, ws_parked_go_away);
}

#endif

static void parking_await_anew(const ws_parked *parked)
{
    if (parked->is_carried) {
        session *s = parked->on.carrier->session;
        s->looks_anew = true;
        io_kick(&s->worker->loop, s->link.stream);
    } else {
        parking_await(connection_of(parked->on.stream), ws_parked_due_ns(parked));
    }
}

static bool parking_send_now(io_stream *stream, slice octets, size_t *left)
{
    connection *conn = connection_of(stream);
    if (conn->has_transport) return transported_send_now(conn, octets, left);
    *left = io_send_now(&conn->worker->self.loop, stream, octets.ptr, octets.len);
    return *left > 0;
}

// Where the peer has not answered our close, nothing more is waited for: one session is made after the other.
static void parking_time_out(io_stream *stream)
{
    connection *conn = connection_of(stream);
    bool is_closing = conn->is_parked && conn->parked->is_closing;
    if (!conn->is_parked || !parking_unpark(stream) || !is_closing) return;
    skua_request *r = h1_tunnel_request(conn->session);
    if (!r) return;
    ws_unparked_give_up(r);
    connection_linger(conn);
}

// Most are told without a session, so that a stop needs no memory for all of them at once.
void parking_stop(server_worker *w)
{
    uint32_t slot = 0;
    for (endpoint *end; (end = endpoint_next(w, &slot));) {
        if (endpoint_side_of(end) == ENDPOINT_CLIENT) continue;
        connection *conn = connection_of(&end->stream);
#ifndef SKUA_NO_HTTP2
        parking_stop_streams(conn);
#endif
        if (!conn->is_parked) continue;
        ws_parked *parked = conn->parked;
        if (!ws_parked_go_away(parked) && conn->is_parked) (void)parking_unpark(&conn->stream);
    }
}

// Sessions and requests that were given back since the last look are freed: there may be thousands of them, and
// no socket that needs one soon. The system has the memory back when there is much of it, or no more to come.
// Returns: whether there was anything.
static bool parking_free(server_worker *w)
{
    skua_worker *self = &w->self;
    size_t before = self->memory.used;
    h1_session_free_all(self);
    worker_free_requests(self);
    secure_rest(w);
    (void)block_store_sweep(&self->blocks);
    size_t freed = before - self->memory.used;
    self->parking_freed += freed;
    if (self->parking_freed >= (freed ? PARKING_TRIM_OCTETS : PARKING_REST_OCTETS)) {
        memory_trim();
        self->parking_freed = 0;
    }
    return freed > 0;
}

// Nothing more is looked for when all are parked and nothing is left to be freed. Where none is parked, others use what
// is kept.
void parking_look(server_worker *w)
{
    skua_worker *self = &w->self;
    if (self->parking_frees && !parking_free(w)) self->parking_frees--;
    if (ws_sessions_rest(self) || self->parking_frees) worker_look_for_rest(self);
}

static const parking_table parking = { .park = parking_park,
                                       .unpark = parking_unpark,
                                       .unpark_to_read = parking_unpark_to_read,
                                       .deliver = ws_parked_deliver,
                                       .close = ws_parked_take_close,
                                       .send_now = parking_send_now,
                                       .time_out = parking_time_out,
                                       .unpark_to_use = parking_unpark_to_use,
#ifndef SKUA_NO_HTTP2
                                       .park_stream = parking_park_stream,
                                       .unpark_stream = parking_unpark_stream,
#endif
                                       .due_ns = ws_parked_due_ns,
                                       .await = parking_await_anew };

void parking_open(server_worker *w)
{
    ws_parked_open(&w->self);
    w->self.parks = &parking;
}

void parking_close(server_worker *w)
{
    io_deadline_remove(&w->self.loop.timers, &w->self.parking);
    ws_parked_close(&w->self);
}

#else

void parking_open(server_worker *w)
{
    (void)w;
}

void parking_close(server_worker *w)
{
    (void)w;
}

#endif
