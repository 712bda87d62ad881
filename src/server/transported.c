// SPDX-License-Identifier: MIT
//
// Connections over a transport. What the wire holds stays in the session's queue until the kernel
// has all of it, so the session's octets leave in whole flights.

#include "server/transported.h"

#include "base/assert.h"
#include "h1/protocol.h"
#include "h2/session.h"
#include "server/connection_deadline.h"
#include "server/worker.h"

static transport *transported_of(const connection *conn)
{
    SKUA_ASSERT(conn->has_transport);
    return transport_of(&conn->stream);
}

static io_loop *transported_loop(const connection *conn)
{
    return &conn->worker->self.loop;
}

// ---- Sending ----

// A turn is known by the low half of its time: another one is taken for it once in four thousand
// million, and costs the connection a wait.
static uint32_t transported_turn(const io_loop *loop)
{
    return (uint32_t)loop->now_ns;
}

// Whether the connection has had its share of this turn. It is kicked in the next.
static bool transported_waits(connection *conn)
{
    transport *t = transported_of(conn);
    io_loop *loop = transported_loop(conn);
    if (t->turn != transported_turn(loop) || t->turn_octets < loop->send_turn_octets_max)
        return false;
    io_kick_later(loop, &conn->stream);
    return true;
}

static void transported_count(transport *t, const io_loop *loop, uint64_t octets)
{
    if (t->turn != transported_turn(loop)) t->turn_octets = 0;
    t->turn = transported_turn(loop);
    uint32_t room = UINT32_MAX - t->turn_octets;
    t->turn_octets += octets < room ? (uint32_t)octets : room;
}

// Returns: false if nothing more can be sent, and the connection has been told so.
static bool transported_fill(connection *conn, bool ends)
{
    transport *t = transported_of(conn);
    session *s = conn->session;
    for (;;) {
        transport_filled filled = t->table->fill(t, s ? s->out : NULL, ends);
        if (filled == TRANSPORT_FILLED) return true;
        if (filled == TRANSPORT_NO_FILE && s && s->protocol->file_failed(s)) continue;
        connection_fail(conn);
        return false;
    }
}

void transported_send(connection *conn)
{
    transport *t = transported_of(conn);
    session *s = conn->session;
    bool last = s && s->protocol->sends_last(s);
    if (s && !conn->shuts && s->protocol->close_half(s)) conn->shuts = conn->ends = true;
    if (transported_waits(conn)) return;
    if (!transported_fill(conn, last || conn->ends)) return;
    bool ended = t->table->has_ended(t);
    if (ended && last) conn->stream.flags |= IO_LAST;
    if (t->wire.octets && !(conn->stream.flags & IO_WANT_SEND))
        io_send(transported_loop(conn), &conn->stream);
    if (conn->shuts && (ended || !conn->ends)) io_shutdown(transported_loop(conn), &conn->stream);
}

#ifndef SKUA_NO_WEBSOCKET

// Returns: whether the wire is empty.
static bool transported_push(connection *conn)
{
    transport *t = transported_of(conn);
    io_loop *loop = transported_loop(conn);
    while (t->wire.octets) {
        const out_segment *first = out_segment_at(&t->wire, 0);
        size_t n = io_send_now(loop, &conn->stream, first->ptr, (size_t)first->len);
        if (n == 0) return false;
        transported_count(t, loop, n);
        out_pop(&t->wire, n);
    }
    return true;
}

// The queue of a session that there is not holds them as long as they are put on the wire. What stays on that is taken for
// the beginning of the session's queue, which is to have it.
bool transported_send_now(connection *conn, slice octets, size_t *left)
{
    transport *t = transported_of(conn);
    if (t->wire.octets || transported_waits(conn)) return false;
    out_segment segments[OUT_SEGMENTS_KEPT + 1];
    out_queue plain;
    out_init(&plain, &conn->worker->self.blocks, segments, OUT_SEGMENTS_KEPT + 1);
    out_lend(&plain, octets, NULL, NULL);
    (void)t->table->fill(t, &plain, false);
    out_deinit(&plain);
    bool was_put = t->wire.octets > 0;
    bool is_sent = transported_push(conn);
    *left = (size_t)t->table->left(t);
    if (is_sent) t->table->rest(t);
    return was_put;
}

#endif

// The peer's FIN comes before our own end has left when both are sent at once. Closing then would
// look to the peer as if something had been cut off.
static void transported_end(connection *conn)
{
    const transport *t = transported_of(conn);
    bool waits = !conn->fin_came || conn->state != CONNECTION_LINGER || conn->has_tail;
    if (!waits && !t->wire.octets && t->table->has_ended(t)) connection_close(conn);
}

void transported_shutdown(connection *conn, bool ends)
{
    conn->shuts = true;
    conn->ends = ends;
    conn->fin_came = conn->stream.flags & IO_FIN_TOLD;
    transported_send(conn);
    transported_end(conn);
}

static void transported_sent(io_stream *stream, uint64_t n)
{
    connection *conn = connection_of(stream);
    transport *t = transport_of(stream);
    session *s = conn->session;
    transported_count(t, transported_loop(conn), n);
    if (s) s->moved += n;
    if (t->wire.octets) return;
    uint64_t left = t->table->left(t);
    if (!s) {
        if (conn->state < CONNECTION_LINGER) t->table->rest(t); // in the middle of a handshake, too
        if (conn->state < CONNECTION_CLOSED) transported_send(conn);
        transported_end(conn);
        return;
    }
    out_pop(s->out, left);
    if (s->protocol->sent(s) && conn->state == CONNECTION_STREAM) return;
    connection_settle(conn);
}

// ---- Receiving ----

// The peer's end. Nothing that it sends after that is looked at.
static void transported_peer_done(connection *conn)
{
    conn->half_closed = conn->peer_ended = true;
    if (conn->session || connection_unpark(conn)) conn->session->protocol->peer_done(conn->session);
    else if (conn->state < CONNECTION_LINGER) connection_linger(conn);
}

// From here on the connection is one in the clear.
static transport *transported_detach(connection *conn)
{
    transport *t = transported_of(conn);
    conn->has_transport = false;
    conn->stream.out = NULL;
    io_stream_set_events(&conn->stream, ENDPOINT_SERVER);
    return t;
}

// The peer speaks in the clear. It is told so in the clear, by a session that answers nothing else.
// octets: the transport may have kept them, and so goes last.
static void transported_drop(connection *conn, slice octets)
{
    transport *t = transported_detach(conn);
    connection_opened(conn);
    connection_refuse(conn, octets, fault_framing(400, "HTTP in the clear where TLS is spoken"),
                      SKUA_SLICE("This address speaks HTTPS: begin it with https://."));
    t->table->give(t);
}

static void transported_count_handshake(connection *conn)
{
    const transport *t = transport_of(&conn->stream);
    figures *f = conn->worker->self.figures;
    skua_tls_info info = { 0 };
    figure_add(&f->shared.handshakes, 1);
    if (t->table->info(t, &info) && info.is_resumed) figure_add(&f->shared.resumed, 1);
}

static bool transported_is_busy(connection *conn)
{
    const uint32_t busy = IO_WANT_SEND | IO_WANT_CLOSE | IO_PENDING | IO_UNWRITABLE | IO_LAST;
    return (conn->stream.flags & busy) || conn->shuts || transported_waits(conn);
}

// Octets have left, and others are on the wire still, if any.
static void transported_sent_part(connection *conn, uint64_t n)
{
    io_loop *loop = transported_loop(conn);
    transport *t = transported_of(conn);
    transported_count(t, loop, n);
    conn->session->moved += n;
    if (t->wire.octets) io_send(loop, &conn->stream);
}

// Answers of more than one record.
static void transported_answer_long(connection *conn)
{
    io_loop *loop = transported_loop(conn);
    const transport *t = transported_of(conn);
    if (!transported_fill(conn, false)) return;
    uint64_t n = io_send_at_once(loop, &conn->stream);
    if (n && !t->wire.octets) transported_sent(&conn->stream, n);
    else transported_sent_part(conn, n);
}

// All that is queued has left, which was one segment. As in the clear, a tunnel of HTTP/1 that awaits an event has said that
// there is nothing to decide.
static void transported_answered(connection *conn)
{
    session *s = conn->session;
    bool is_copied = out_segment_at(s->out, 0)->kind == OUT_COPIED;
    if (is_copied) out_clear(s->out);
    else out_pop(s->out, s->out->octets);
    if (is_copied && conn->state == CONNECTION_STREAM && s->protocol == &h1_protocol) return;
    if (s->protocol->sent(s) && conn->state == CONNECTION_STREAM) return;
    connection_settle(conn);
}

// Everything is answered, and nothing is about to end. As in the clear, the answers leave before the next connection is
// read, where that costs less.
static void transported_answer(connection *conn)
{
    io_loop *loop = transported_loop(conn);
    transport *t = transported_of(conn);
    session *s = conn->session;
    uint64_t n = 0;
    if (!loop->backend->send_at_once || transported_is_busy(conn)) {
        transported_send(conn);
        return;
    }
    switch (t->table->send_short(t, s->out, &n)) {
    case TRANSPORT_NOT_SHORT: transported_answer_long(conn); return;
    case TRANSPORT_FILLED: break;
    case TRANSPORT_NO_MEMORY:
    case TRANSPORT_NO_FILE: connection_fail(conn); return;
    }
    if (t->wire.octets) {
        transported_sent_part(conn, n);
        return;
    }
    transported_count(t, loop, n);
    s->moved += n;
    transported_answered(conn);
}

// Every octet that came has been used.
static void transported_used(connection *conn, bool answered)
{
    if (!conn->session) transported_send(conn);
    else if (answered) transported_answer(conn);
    else connection_settle(conn);
}

// One session may answer several pieces; they leave together.
static void transported_read(connection *conn, transport_input input)
{
    transport *t = transported_of(conn);
    bool answered = false;
    for (;;) {
        slice plain = { 0 };
        switch (t->table->read(t, &input, &plain)) {
        case TRANSPORT_NEEDS_MORE: transported_used(conn, answered); return;
        case TRANSPORT_OPENED:
            SKUA_ASSERT(t->host);
            transported_count_handshake(conn);
            connection_opened(conn);
            break;
        case TRANSPORT_OCTETS: answered = connection_hand(conn, plain); break;
        case TRANSPORT_LAST:
            answered = connection_hand(conn, plain);
            if (conn->state < CONNECTION_LINGER) transported_used(conn, answered);
            return;
        case TRANSPORT_ENDED: transported_peer_done(conn); break;
        case TRANSPORT_FAILED: connection_fail(conn); return;
        case TRANSPORT_IS_PLAIN: transported_drop(conn, plain); return;
        }
        if (conn->state >= CONNECTION_LINGER) return;
    }
}

// The session's memory comes while the transport opens what it has received. Its protocol is not asked for this by its
// table, since the session would have to be read for that.
static void transported_near(const connection *conn)
{
#ifndef SKUA_NO_HTTP2
    if (conn->speaks_h2 && conn->session) h2_session_near(conn->session);
#else
    (void)conn;
#endif
}

static void transported_received(io_stream *stream, char *octets, size_t len)
{
    connection *conn = connection_of(stream);
    transported_near(conn);
    if (conn->state == CONNECTION_LINGER) connection_drain(conn, len);
    else if (conn->state < CONNECTION_LINGER)
        transported_read(conn, (transport_input){ .octets = octets, .len = len });
}

static void transported_kicked(io_stream *stream)
{
    connection *conn = connection_of(stream);
    if (conn->state >= CONNECTION_LINGER) {
        if (conn->state == CONNECTION_LINGER) transported_send(conn);
        return;
    }
    if (conn->session) conn->session->protocol->resume(conn->session);
    transported_read(conn, (transport_input){ 0 });
}

// An end of the wire without the transport's own: octets may have been cut off on the way.
static void transported_ended(io_stream *stream, io_end how)
{
    connection *conn = connection_of(stream);
    if (how == IO_END_FIN && conn->session && conn->peer_ended) return; // it is known
    if (how == IO_END_FIN && conn->state == CONNECTION_LINGER && conn->ends) {
        conn->fin_came = true;
        transported_end(conn);
        return;
    }
    bool cut_off = how == IO_END_FIN && (conn->session || conn->is_parked);
    connection_role.events.ended(stream, cut_off ? IO_END_RESET : how);
}

const endpoint_role transported_role = {
    .events = { .received = transported_received,
                .ended = transported_ended,
                .kicked = transported_kicked,
                .sent = transported_sent,
                .closed = connection_closed },
    .timed_out = connection_timed_out,
    .hurry = connection_hurried,
    .abort = connection_aborted,
};

// ---- Life ----

void transported_begin(connection *conn, transport *t)
{
    SKUA_ASSERT(!conn->has_transport && !conn->session);
    conn->has_transport = true;
    conn->stream.out = &t->wire;
    io_stream_set_events(&conn->stream, ENDPOINT_SECURE_SERVER);
    t->stream = &conn->stream;
}

void transported_rest(connection *conn)
{
    transport *t = transported_of(conn);
    t->table->rest(t);
}

__attribute__((cold)) void transported_part_left(connection *conn)
{
    transport *t = transported_of(conn);
    out_pop(conn->session->out, t->table->left(t));
}

void transported_give(connection *conn)
{
    transport *t = transported_detach(conn);
    t->table->give(t);
}
