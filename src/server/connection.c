// SPDX-License-Identifier: MIT
//
// Connection: what the loop tells goes to the session; what the session needs goes to the loop.

#include "server/connection.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/inline.h"
#include "server/connection_deadline.h"
#include "server/server.h"
#include "server/transported.h"
#include "server/worker.h"
#include "exchange/carrier.h"
#include "exchange/recorder.h"
#include "exchange/request.h"
#include "h1/protocol.h"
#include "h2/protocol.h"

// Most connections speak HTTP/1. A compiler that sees its table calls them directly: 60 instructions fewer for a request.
#define CONNECTION_CALL(s, function, ...)                                                          \
    ((s)->protocol == &h1_protocol ? h1_protocol.function(__VA_ARGS__)                             \
                                   : (s)->protocol->function(__VA_ARGS__))

__attribute__((noinline)) void connection_deadline_set(connection *conn, int64_t ns)
{
    if (ns > 0) io_deadline_set(&conn->worker->self.loop.timers, &conn->deadline, ns);
    else io_deadline_unset(&conn->deadline);
}

// From this length on, the end of a response that only the kernel holds is watched.
enum { CONNECTION_TAIL_OCTETS = 65536 };

static void connection_await_handler(connection *conn)
{
    session_watch(conn->session);
    conn->looks = 0;
    connection_deadline_set(conn, conn->session->protocol->look_at_handler(conn->session));
}

static void connection_leave_state(connection *conn, connection_state next)
{
    const skua_worker *w = &conn->worker->self;
    conn->looks = 0;
    if (w->tells & TELL_FIGURES) figures_move(w->figures, conn->state, next);
}

// The one setter of the state: the predecessor is checked, the deadline set.
static BASE_INLINE void connection_set_state(connection *conn, connection_state next)
{
    const skua_config *config = worker_config(&conn->worker->self);
    SKUA_ASSERT(conn->state != CONNECTION_CLOSED);
    SKUA_ASSERT(conn->state != CONNECTION_LINGER || next == CONNECTION_CLOSED);
    bool same = conn->state == next;
    if (__builtin_expect(!same, 0)) connection_leave_state(conn, next);
    conn->state = (uint8_t)next;
    switch (next) {
    case CONNECTION_IDLE:
        conn->looks = 0;
        connection_deadline_set(conn, conn->worker->keep_alive_ns);
        return;
    case CONNECTION_HANDSHAKE: connection_deadline_set(conn, conn->worker->handshake_ns); return;
    case CONNECTION_HEAD: // absolute, from the first octet
        if (!same) connection_deadline_set(conn, config->head_timeout_ns);
        return;
    case CONNECTION_CONTENT:
    case CONNECTION_SENDING:
        if (same) return;
        session_watch(conn->session);
        connection_deadline_set(conn, session_look_ns(&conn->worker->self));
        return;
    case CONNECTION_HANDLER:
        if (same) return;
        connection_await_handler(conn);
        return;
    case CONNECTION_STREAM: connection_await_handler(conn); return;
    case CONNECTION_LINGER: connection_deadline_set(conn, conn->worker->linger_ns); return;
    case CONNECTION_CLOSED:
        io_deadline_remove(&conn->worker->self.loop.timers, &conn->deadline);
        return;
    }
}

void connection_enter(connection *conn, connection_state next)
{
    connection_set_state(conn, next);
}

// ---- Ending ----

__attribute__((cold)) bool connection_unpark(connection *conn)
{
    return conn->is_parked && conn->worker->self.parks->unpark(&conn->stream);
}

// A session whose socket was parked is made again, as the program is to hear of the end.
static inline void connection_drop_session(connection *conn, skua_end how)
{
    session *s = conn->session;
    if (!s) {
        if (!connection_unpark(conn)) return;
        s = conn->session;
    }
    if (conn->has_transport) transported_part_left(conn);
    CONNECTION_CALL(s, end, s, how);
    conn->session = NULL;
    if (!conn->has_transport) conn->stream.out = NULL;
}

void connection_close(connection *conn)
{
    connection_set_state(conn, CONNECTION_CLOSED);
    io_close(&conn->worker->self.loop, &conn->stream);
}

__attribute__((cold)) void connection_cut(connection *conn)
{
    connection_set_state(conn, CONNECTION_CLOSED);
    io_reset(&conn->worker->self.loop, &conn->stream);
    connection_drop_session(conn, SKUA_END_TIMEOUT);
}

__attribute__((cold)) void connection_abort(connection *conn, skua_end how)
{
    if (conn->state == CONNECTION_CLOSED) return;
    connection_close(conn);
    connection_drop_session(conn, how);
}

bool connection_is_idle(const connection *conn)
{
    return conn->state == CONNECTION_IDLE && (!conn->session || conn->session->idles);
}

void connection_retire(connection *conn)
{
    SKUA_ASSERT(connection_is_idle(conn));
    connection_deadline_set(conn, 1); // the next tick
}

// Whether so much was sent that what the kernel holds of it for the peer may be worth watching.
// Where it is, the connection stays until the peer has it, whoever has closed what.
static bool connection_has_tail(const connection *conn)
{
    return conn->session && conn->session->moved > CONNECTION_TAIL_OCTETS &&
           io_unsent(&conn->worker->self.loop, &conn->stream);
}

// ends: where there is a transport, it says that this is the end.
static void connection_half_close(connection *conn, bool ends)
{
    if (conn->has_transport) transported_shutdown(conn, ends);
    else io_shutdown(&conn->worker->self.loop, &conn->stream);
}

static void connection_linger_as(connection *conn, bool ends)
{
    if (conn->state >= CONNECTION_LINGER) return;
    bool tail = connection_has_tail(conn);
    connection_drop_session(conn, SKUA_END_SENT);
    bool owes_end = conn->has_transport && ends;
    if (!tail && !owes_end && (conn->stream.flags & IO_FIN_TOLD)) {
        connection_close(conn);
        return;
    }
    conn->has_tail = tail;
    connection_set_state(conn, CONNECTION_LINGER);
    connection_half_close(conn, ends);
    if (conn->state == CONNECTION_LINGER && !(conn->stream.flags & IO_FIN_TOLD))
        io_recv(&conn->worker->self.loop, &conn->stream);
}

void connection_linger(connection *conn)
{
    connection_linger_as(conn, true);
}

// Everything is sent and nothing more is to be read. A close with input in the kernel's buffer
// would reset the connection and destroy the response on its way (RFC 9112 §9.6), hence the
// draining, unless there is nothing to drain.
static void connection_end(connection *conn, bool drains)
{
    if (drains || connection_has_tail(conn)) {
        connection_linger(conn);
        return;
    }
    connection_drop_session(conn, SKUA_END_SENT);
    connection_close(conn);
}

void connection_break_off(connection *conn, skua_end how)
{
    connection_drop_session(conn, how);
    connection_linger_as(conn, false);
}

__attribute__((cold)) void connection_fail(connection *conn)
{
    if (conn->state == CONNECTION_LINGER) connection_close(conn);
    else if (conn->state < CONNECTION_LINGER) connection_break_off(conn, SKUA_END_ERROR);
}

// ---- What comes next ----

static const uint8_t connection_states[] = {
    [SESSION_AWAITS_HEAD] = CONNECTION_HEAD,       [SESSION_AWAITS_CONTENT] = CONNECTION_CONTENT,
    [SESSION_AWAITS_HANDLER] = CONNECTION_HANDLER, [SESSION_AWAITS_PEER] = CONNECTION_SENDING,
    [SESSION_AWAITS_EVENT] = CONNECTION_STREAM,
};

static void connection_send(connection *conn)
{
    io_loop *loop = &conn->worker->self.loop;
    session *s = conn->session;
    if (s->protocol->sends_last(s)) conn->stream.flags |= IO_LAST;
    if (s->out->octets && !(conn->stream.flags & IO_WANT_SEND)) io_send(loop, &conn->stream);
    if (s->protocol->close_half(s)) io_shutdown(loop, &conn->stream);
}

// In HTTP/1 a tunnel rests.
static void connection_look_anew(connection *conn)
{
    session *s = conn->session;
    s->looks_anew = false;
    if (s->protocol == &h1_protocol) {
        conn->worker->self.parks->park(&conn->stream);
        return;
    }
    int64_t next = s->protocol->look_at_handler(s);
    if (next >= 0) connection_deadline_set(conn, next);
}

static void connection_go_on(connection *conn)
{
    io_loop *loop = &conn->worker->self.loop;
    session *s = conn->session;
    if (conn->has_transport) transported_send(conn);
    else connection_send(conn);
    if (conn->session != s) return; // it could not be sent
    if (s->protocol->wants_input(s)) io_recv(loop, &conn->stream);
    else io_recv_stop(&conn->stream);
    connection_set_state(conn, (connection_state)connection_states[s->protocol->awaits(s)]);
    if (s->looks_anew) connection_look_anew(conn);
}

// Octets that ask for nothing, as a PING of HTTP/2, do not renew the time.
__attribute__((noinline)) static void connection_count_rest(connection *conn)
{
    int64_t rested = conn->worker->self.loop.now_ns - conn->session->rests_from_ns;
    int64_t left = conn->worker->keep_alive_ns - rested;
    connection_deadline_set(conn, left > 0 ? left : 1);
}

// keeps: the session stays, as it remembers what later octets depend on.
__attribute__((always_inline)) static inline void connection_rest(connection *conn, bool keeps)
{
    io_recv(&conn->worker->self.loop, &conn->stream);
    if (keeps) conn->session->idles = true;
    else connection_drop_session(conn, SKUA_END_SENT);
    if (conn->has_transport) transported_rest(conn);
    connection_set_state(conn, CONNECTION_IDLE);
    if (keeps && conn->session->rests_from_ns != conn->worker->self.loop.now_ns)
        connection_count_rest(conn);
}

// After anything has happened: send, read or not, wait for the right thing.
void connection_settle(connection *conn)
{
    session *s = conn->session;
    switch (CONNECTION_CALL(s, fate, s)) {
    case SESSION_GOES_ON: connection_go_on(conn); return;
    case SESSION_RESTS: connection_rest(conn, false); return;
    case SESSION_IDLES: connection_rest(conn, true); return;
    case SESSION_ENDS: connection_end(conn, true); return;
    case SESSION_CLOSES: connection_end(conn, false); return;
    case SESSION_BREAKS: connection_break_off(conn, SKUA_END_ERROR); return;
    }
}

// ---- The protocol ----

// The octets by which a client of HTTP/2 is told from one of HTTP/1, RFC 9113 §3.4: no method of
// HTTP/1 begins so.
enum { CONNECTION_EARLY_OCTETS = 4 };
static const char connection_early[] = "PRI ";

// Whether octets go on with those that have come before, as far as these go.
static bool connection_is_early(const connection *conn, slice octets)
{
    size_t n = CONNECTION_EARLY_OCTETS - (size_t)conn->early;
    if (n > octets.len) n = octets.len;
    return memcmp(connection_early + conn->early, octets.ptr, n) == 0;
}

// They need not be kept, as it is known which they are.
static void connection_await_early(connection *conn, size_t len)
{
    conn->early = (conn->early + len) & 3;
    connection_set_state(conn, CONNECTION_HEAD);
}

// By ALPN, RFC 9113 §3.2.
static bool connection_agreed_on_h2(const connection *conn)
{
    skua_tls_info info;
    if (!conn->has_transport) return false;
    const transport *t = transport_of(&conn->stream);
    return t->table->info(t, &info) && slice_equal(info.protocol, SKUA_SLICE("h2"));
}

void connection_opened(connection *conn)
{
    conn->speaks_h2 = connection_agreed_on_h2(conn);
    connection_set_state(conn, CONNECTION_IDLE);
}

// ---- What the loop tells ----

__attribute__((cold)) void connection_drain(connection *conn, size_t len)
{
    conn->lingered += (uint32_t)len;
    if (conn->lingered > worker_config(&conn->worker->self)->linger_octets_max)
        connection_close(conn);
}

bool connection_adopt(connection *conn, session *s)
{
    conn->session = s;
    if (!s) {
        connection_close(conn);
        return false;
    }
    s->link = (session_link){ .stream = &conn->stream,
                              .peer = &conn->peer,
                              .peer_is_done = &conn->half_closed };
    if (conn->has_transport) s->link.transport = transport_of(&conn->stream);
    else conn->stream.out = s->out;
    return true;
}

// Hands on the octets that came before it could be told which protocol is spoken.
static void connection_replay(connection *conn)
{
    size_t len = conn->early;
    conn->early = 0;
    if (len == 0) return;
    conn->session->moved += len;
    (void)conn->session->protocol->received(conn->session, connection_early, len);
}

// Where it is compiled out, it is off, and nobody comes here.
static session *connection_begin_h2(skua_worker *w)
{
#ifdef SKUA_NO_HTTP2
    (void)w;
    return NULL;
#else
    return h2_protocol.begin(w);
#endif
}

// By the transport, if it has agreed on a protocol; in the clear by the first octets (RFC 9113 §3.3).
// Returns: whether there is a session that is to have them.
__attribute__((noinline)) static bool connection_activate_any(connection *conn, slice octets)
{
    skua_worker *w = &conn->worker->self;
    if (conn->is_parked) return w->parks->unpark_to_read(&conn->stream);
    const skua_http2_desc *h2 = &worker_config(w)->http2;
    bool prior =
        !conn->has_transport && !h2->off && !h2->h2c_off && connection_is_early(conn, octets);
    if (prior && conn->early + octets.len < CONNECTION_EARLY_OCTETS) {
        connection_await_early(conn, octets.len);
        return false;
    }
    session *s = conn->speaks_h2 || prior ? connection_begin_h2(w) : h1_protocol.begin(w);
    if (!connection_adopt(conn, s)) return false;
    connection_replay(conn);
    return true;
}

// Each request on a connection that was idle comes by here.
__attribute__((always_inline)) static inline bool connection_activate(connection *conn,
                                                                      slice octets)
{
    if (conn->session) return true;
    if (conn->speaks_h2 || conn->early || conn->is_parked || octets.ptr[0] == 'P')
        return connection_activate_any(conn, octets);
    return connection_adopt(conn, h1_protocol.begin(&conn->worker->self));
}

bool connection_activate_late(connection *conn)
{
    if (!connection_adopt(conn, h1_protocol.begin(&conn->worker->self))) return false;
    connection_replay(conn);
    return true;
}

bool connection_hand(connection *conn, slice octets)
{
    if (!connection_activate(conn, octets)) return false;
    session *s = conn->session;
    s->moved += octets.len;
    return s->protocol->received(s, octets.ptr, octets.len);
}

__attribute__((cold)) void connection_refuse(connection *conn, slice octets, fault why,
                                             slice sentence)
{
    if (!connection_activate(conn, octets)) {
        // The beginning of a preface. Its rest is not waited for, since that would be served.
        if (conn->early == 0) return;
        conn->early = 0;
        if (!connection_activate_late(conn)) return;
    }
    conn->session->protocol->refuse(conn->session, octets, why, sentence);
    connection_settle(conn);
}

static void connection_sent(io_stream *stream, uint64_t n)
{
    connection *conn = connection_of(stream);
    session *s = conn->session;
    if (!s) return;
    s->moved += n;
    if (CONNECTION_CALL(s, sent, s) && conn->state == CONNECTION_STREAM) return;
    connection_settle(conn);
}

// A tunnel of HTTP/1 that awaits an event has said that there is nothing to decide.
static BASE_INLINE_ALWAYS void connection_send_answers(connection *conn, session *s)
{
    uint64_t n = io_send_at_once(&conn->worker->self.loop, &conn->stream);
    if (s->out->octets) {
        io_send(&conn->worker->self.loop, &conn->stream);
    } else if (conn->state != CONNECTION_STREAM || s->protocol != &h1_protocol) {
        connection_sent(&conn->stream, n);
        return;
    }
    s->moved += n;
}

static void connection_received(io_stream *stream, char *octets, size_t len)
{
    connection *conn = connection_of(stream);
    if (conn->state == CONNECTION_LINGER) {
        connection_drain(conn, len);
        return;
    }
    if (!connection_activate(conn, slice_make(octets, len))) return;
    session *s = conn->session;
    s->moved += len;
    if (CONNECTION_CALL(s, received, s, octets, len)) connection_send_answers(conn, s);
    else connection_settle(conn);
}

static void connection_kicked(io_stream *stream)
{
    connection *conn = connection_of(stream);
    if (!conn->session) return;
    conn->session->protocol->resume(conn->session);
    connection_settle(conn);
}

// NEAR is told while octets of the peer's may still be unread, so the protocol hears of the end
// only with FIN.
static void connection_ended(io_stream *stream, io_end how)
{
    connection *conn = connection_of(stream);
    switch (how) {
    case IO_END_RESET: connection_abort(conn, SKUA_END_CLOSED); return;
    case IO_END_NEAR:
        conn->half_closed = true;
        if (conn->session) connection_settle(conn);
        return;
    case IO_END_FIN: break;
    }
    conn->half_closed = true;
    if (!conn->session && !connection_unpark(conn)) {
        if (!conn->has_tail && conn->state != CONNECTION_CLOSED) connection_close(conn);
        return;
    }
    conn->session->protocol->peer_done(conn->session);
    connection_settle(conn);
}

void connection_end_head(connection *conn)
{
    SKUA_ASSERT(conn->state == CONNECTION_HEAD || conn->state == CONNECTION_HANDSHAKE);
    if (conn->state == CONNECTION_HANDSHAKE) {
        connection_close(conn);
        return;
    }
    connection_drop_session(conn, SKUA_END_ERROR);
    connection_linger(conn);
}

static void connection_send_failed(io_stream *stream)
{
    connection *conn = connection_of(stream);
    session *s = conn->session;
    if (s && s->protocol->file_failed(s)) connection_settle(conn);
    else connection_break_off(conn, SKUA_END_ERROR);
}

void connection_closed(io_stream *stream)
{
    connection *conn = connection_of(stream);
    SKUA_ASSERT(!conn->session);
    const skua_config *config = worker_config(&conn->worker->self);
    if (config->on_close) config->on_close(conn, config->hook_user);
    if (conn->has_transport) transported_give(conn);
    connection_forget(conn);
}

void connection_give(connection *conn)
{
    server_worker *w = conn->worker;
    figures *f = w->self.figures;
    figure_add(&f->shared.closed, 1);
    if (w->self.tells & TELL_FIGURES) figure_add(&f->shared.states[conn->state], UINT64_MAX);
    pool_give(&w->connections, conn);
}

void connection_forget(connection *conn)
{
    server_worker *w = conn->worker;
    w->serving--;
    connection_give(conn);
}

const io_address *connection_peer(connection *conn)
{
    io_peer(&conn->worker->self.loop, &conn->stream, &conn->peer);
    return &conn->peer;
}

// ---- Its role ----

void connection_aborted(endpoint *end)
{
    connection_abort(connection_of(&end->stream), SKUA_END_ERROR);
}

const endpoint_role connection_role = {
    .events = { .received = connection_received,
                .ended = connection_ended,
                .kicked = connection_kicked,
                .sent = connection_sent,
                .send_failed = connection_send_failed,
                .closed = connection_closed },
    .timed_out = connection_timed_out,
    .hurry = connection_hurried,
    .abort = connection_aborted,
};

// ---- Public ----

void skua_request_close(skua_request *r)
{
    if (!request_is_here(r)) {
        recorder *taken = recorder_of(r, __func__);
        taken->table->close(taken);
        return;
    }
    if (!request_is_answered(r)) r->close = r->retires = true;
}
