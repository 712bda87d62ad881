// SPDX-License-Identifier: MIT
//
// Connection: what the loop tells goes to the session; what the session needs goes to the loop.

#include "server/connection.h"

#include "base/assert.h"
#include "base/contract.h"
#include "server/server.h"
#include "server/sweep.h"
#include "exchange/push.h"
#include "exchange/waiting.h"
#include "server/worker.h"

static connection *connection_of(io_stream *stream)
{
    return (connection *)(void *)stream;
}

static void connection_deadline_set(connection *conn, int64_t ns)
{
    if (ns > 0) io_deadline_set(&conn->worker->self.loop.timers, &conn->deadline, ns);
    else io_deadline_unset(&conn->deadline);
}

// A deadline is put off so often for input that waits; each time for a tick. Then a peer that always
// has something under way is judged by what it has sent.
enum { CONNECTION_LOOKS_MAX = 100 };

// From this length on, the end of a response that only the kernel holds is watched.
enum { CONNECTION_TAIL_OCTETS = 65536 };

// A peer that has taken more than it must may rest for as long as these octets last at the minimum
// rate: its kernel makes room in steps.
enum { CONNECTION_PATIENCE_MAX = 65536 };

// How long the current request may be silent; 0: for ever. A handler that has not begun to answer
// has its own deadline, or none. An answer that has begun holds the client, and one whose client has
// left is held for nobody.
static int64_t connection_silence_ns(const connection *conn)
{
    const skua_config *config = worker_config(&conn->worker->self);
    const skua_request *r = conn->session->carrier.current;
    if (r->push >= PUSH_TUNNEL) return config->stream_idle_timeout_ns;
    if (config->handler_timeout_ns) return config->handler_timeout_ns;
    bool left = conn->half_closed && !config->half_close;
    return r->answering != ANSWER_NONE || left ? config->stream_idle_timeout_ns : 0;
}

// Sets the deadline for what is left of that. A handler that has forgotten to answer is looked for
// meanwhile.
static void connection_await_handler(connection *conn)
{
    const session *s = conn->session;
    int64_t look = worker_config(&conn->worker->self)->unanswered_log_ns;
    int64_t most = connection_silence_ns(conn);
    int64_t left = most - session_silent_ns(s);
    bool looks = s->carrier.current->answering == ANSWER_NONE && (most == 0 || look < left);
    connection_deadline_set(conn, looks ? look : left);
}

// The one setter of the state: the predecessor is checked, the deadline set.
static void connection_set_state(connection *conn, connection_state next)
{
    const skua_config *config = worker_config(&conn->worker->self);
    SKUA_ASSERT(conn->state != CONNECTION_CLOSED);
    SKUA_ASSERT(conn->state != CONNECTION_LINGER || next == CONNECTION_CLOSED);
    bool same = conn->state == next;
    conn->state = (uint8_t)next;
    if (!same || next == CONNECTION_IDLE) conn->looks = 0;
    switch (next) {
    case CONNECTION_IDLE: connection_deadline_set(conn, conn->worker->keep_alive_ns); return;
    case CONNECTION_HEAD: // absolute, from the first octet
        if (!same) connection_deadline_set(conn, config->head_timeout_ns);
        return;
    case CONNECTION_CONTENT:
    case CONNECTION_SENDING:
        if (same) return;
        session_watch_progress(conn->session);
        connection_deadline_set(conn, session_look_ns(&conn->worker->self));
        return;
    case CONNECTION_HANDLER:
        if (same) return;
        session_watch_progress(conn->session);
        connection_await_handler(conn);
        return;
    case CONNECTION_STREAM:
        session_watch_progress(conn->session);
        connection_await_handler(conn);
        return;
    case CONNECTION_LINGER: connection_deadline_set(conn, conn->worker->linger_ns); return;
    case CONNECTION_CLOSED:
        io_deadline_remove(&conn->worker->self.loop.timers, &conn->deadline);
        return;
    }
}

// ---- Ending ----

static void connection_drop_session(connection *conn, skua_end how)
{
    session *s = conn->session;
    if (!s) return;
    session_give(s, how);
    conn->session = NULL;
    conn->stream.out = NULL;
}

static void connection_close(connection *conn)
{
    connection_set_state(conn, CONNECTION_CLOSED);
    io_close(&conn->worker->self.loop, &conn->stream);
}

// Gives up on a peer that does not take its part: what the kernel has for it is dropped.
__attribute__((cold)) static void connection_cut(connection *conn)
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

void connection_hurry(connection *conn)
{
    if (conn->state == CONNECTION_IDLE) connection_deadline_set(conn, conn->worker->keep_alive_ns);
    if (conn->state == CONNECTION_LINGER) connection_deadline_set(conn, conn->worker->linger_ns);
}

void connection_retire(connection *conn)
{
    SKUA_ASSERT(conn->state == CONNECTION_IDLE && !conn->session);
    connection_deadline_set(conn, 1); // the next tick
}

// Whether so much was sent that what the kernel holds of it for the peer may be worth watching. Where
// it is, the connection stays until the peer has it, whoever has closed what.
static bool connection_has_tail(const connection *conn)
{
    return conn->session && conn->session->moved > CONNECTION_TAIL_OCTETS &&
           io_unsent(&conn->worker->self.loop, &conn->stream);
}

void connection_linger(connection *conn)
{
    if (conn->state >= CONNECTION_LINGER) return;
    bool tail = connection_has_tail(conn);
    connection_drop_session(conn, SKUA_END_SENT);
    if (!tail && (conn->stream.flags & IO_FIN_TOLD)) {
        connection_close(conn);
        return;
    }
    conn->has_tail = tail;
    connection_set_state(conn, CONNECTION_LINGER);
    io_shutdown(&conn->worker->self.loop, &conn->stream);
    if (!(conn->stream.flags & IO_FIN_TOLD)) io_recv(&conn->worker->self.loop, &conn->stream);
}

// Everything is sent and nothing more is to be read. A close with input in the kernel's buffer
// would reset the connection and destroy the answer on its way (RFC 9112 §9.6), hence the draining.
static void connection_end(connection *conn)
{
    bool direct = conn->session->direct && !connection_has_tail(conn);
    if (!direct) {
        connection_linger(conn);
        return;
    }
    connection_drop_session(conn, SKUA_END_SENT);
    connection_close(conn);
}

// ---- What comes next ----

static connection_state connection_waits_for(const connection *conn)
{
    const session *s = conn->session;
    if (s->carrier.out.octets) return CONNECTION_SENDING;
    const skua_request *r = s->carrier.current;
    if (!r) return CONNECTION_IDLE;
    if (stream_idles(r)) return CONNECTION_STREAM;
    switch (waiting_of(r)) {
    case WAITING_HEAD: return CONNECTION_HEAD;
    case WAITING_CONTENT: return CONNECTION_CONTENT;
    case WAITING_TUNNEL:
    case WAITING_WORK:
    case WAITING_ROOM:
    case WAITING_CREDIT:
    case WAITING_TIME: return CONNECTION_HANDLER;
    }
    return CONNECTION_HANDLER;
}

// The peer has said that it sends no more: a message that is not complete never will be.
static bool connection_is_cut_off(const session *s)
{
    const skua_request *r = s->carrier.current;
    if (!s->peer_done || !r || r->reading == READING_DONE || r->reading == READING_TUNNEL)
        return false;
    return r->reading == READING_HEAD || (s->in_len == 0 && !content_is_blocked(r));
}

// The client has said that it sends no more, and most who do so have left. What only time can bring
// is not waited for in their name; what the library itself is about to answer is, and what the peer
// still takes.
static bool connection_is_left(const connection *conn)
{
    const skua_request *r = conn->session->carrier.current;
    if (!conn->half_closed || !r || worker_config(&conn->worker->self)->half_close) return false;
    return waiting_of(r) == WAITING_TIME;
}

static bool connection_has_ended(connection *conn)
{
    session *s = conn->session;
    if (s->carrier.broken && s->carrier.out.octets == 0) {
        connection_drop_session(conn, SKUA_END_ERROR);
        connection_linger(conn); // the answers before it may still be on their way
        return true;
    }
    if (connection_is_cut_off(s) || connection_is_left(conn)) session_cut_off(s);
    if (s->carrier.current || s->leaving || s->carrier.out.octets) return false;
    if (!s->closing && !(s->peer_done && s->in_len == 0)) return false;
    connection_end(conn);
    return true;
}

// After anything has happened: send, read or not, wait for the right thing.
static void connection_settle(connection *conn)
{
    io_loop *loop = &conn->worker->self.loop;
    session *s = conn->session;
    // an answer may have left before the content that came with its request was discarded
    session_sent(s);
    if (connection_has_ended(conn)) return;
    if (s->closing && !s->carrier.current && !s->peer_done) conn->stream.flags |= IO_LAST;
    if (s->carrier.out.octets && !(conn->stream.flags & IO_WANT_SEND)) io_send(loop, &conn->stream);
    if (s->carrier.current && tunnel_closes_half(s->carrier.current))
        io_shutdown(loop, &conn->stream);
    if (session_wants_input(s)) io_recv(loop, &conn->stream);
    else io_recv_stop(&conn->stream);
    if (session_is_idle(s)) {
        connection_drop_session(conn, SKUA_END_SENT);
        connection_set_state(conn, CONNECTION_IDLE);
    } else {
        connection_set_state(conn, connection_waits_for(conn));
    }
}

// ---- What the loop tells ----

__attribute__((cold)) static void connection_drain(connection *conn, size_t len)
{
    conn->lingered += (uint32_t)len;
    if (conn->lingered > worker_config(&conn->worker->self)->linger_octets_max)
        connection_close(conn);
}

static bool connection_activate(connection *conn)
{
    if (conn->session) return true;
    conn->session =
        session_take(&conn->worker->self, &(session_link){ .stream = &conn->stream,
                                                           .peer = &conn->peer,
                                                           .peer_is_done = &conn->half_closed });
    if (!conn->session) {
        connection_close(conn);
        return false;
    }
    conn->stream.out = &conn->session->carrier.out;
    return true;
}

static void connection_received(io_stream *stream, char *octets, size_t len)
{
    connection *conn = connection_of(stream);
    if (conn->state == CONNECTION_LINGER) {
        connection_drain(conn, len);
        return;
    }
    if (!connection_activate(conn)) return;
    session *s = conn->session;
    session_received(s, octets, len);
    // The usual case: everything is answered, and what comes next is decided when it has left.
    if (s->carrier.out.octets && !s->carrier.current && !s->closing && !s->carrier.broken &&
        s->in_len == 0) {
        io_send(&conn->worker->self.loop, stream);
    } else {
        connection_settle(conn);
    }
}

static void connection_sent(io_stream *stream, uint64_t n)
{
    connection *conn = connection_of(stream);
    session *s = conn->session;
    if (!s) return;
    s->moved += n;
    session_sent(s);
    if (s->carrier.current || s->in_len) session_resume(s);
    connection_settle(conn);
}

static void connection_kicked(io_stream *stream)
{
    connection *conn = connection_of(stream);
    if (!conn->session) return;
    session_resume(conn->session);
    connection_settle(conn);
}

static void connection_ended(io_stream *stream, io_end how)
{
    connection *conn = connection_of(stream);
    switch (how) {
    case IO_END_RESET: connection_abort(conn, SKUA_END_CLOSED); return;
    case IO_END_NEAR:
        conn->half_closed = true;
        if (conn->session && conn->session->carrier.current) connection_settle(conn);
        return;
    case IO_END_FIN: break;
    }
    conn->half_closed = true;
    if (!conn->session) {
        if (!conn->has_tail) connection_close(conn);
        return;
    }
    session_peer_done(conn->session);
    connection_settle(conn);
}

void connection_end_head(connection *conn)
{
    SKUA_ASSERT(conn->state == CONNECTION_HEAD);
    connection_drop_session(conn, SKUA_END_ERROR);
    connection_linger(conn);
}

static void connection_send_failed(io_stream *stream)
{
    connection *conn = connection_of(stream);
    connection_drop_session(conn, SKUA_END_ERROR);
    // as when a source fails: the answers before it may still be on their way
    connection_linger(conn);
}

static void connection_closed(io_stream *stream)
{
    connection *conn = connection_of(stream);
    server_worker *w = conn->worker;
    SKUA_ASSERT(!conn->session);
    const skua_config *config = worker_config(&w->self);
    if (config->on_close) config->on_close(conn, config->hook_user);
    pool_give(&w->connections, conn);
}

const io_stream_events connection_events = {
    .received = connection_received,
    .ended = connection_ended,
    .kicked = connection_kicked,
    .sent = connection_sent,
    .send_failed = connection_send_failed,
    .closed = connection_closed,
};

// ---- Beginning, and deadlines ----

static bool connection_is_welcome(connection *conn)
{
    const skua_config *config = worker_config(&conn->worker->self);
    return !config->on_connect || config->on_connect(conn, config->hook_user);
}

static connection *connection_take(server_worker *w, int fd, const io_address *peer)
{
    connection *conn = pool_take(&w->connections);
    if (!conn) return NULL;
    sweep_follow(w);
    io_stream_open(&conn->stream, fd);
    uint64_t number = ++w->accepted;
    conn->worker = w;
    conn->peer = *peer;
    conn->id_high = (uint16_t)(number >> 32);
    conn->id_low = (uint32_t)number;
    if (worker_config(&w->self)->on_close)
        (void)connection_peer(conn); // then it is too late to ask
    if (connection_is_welcome(conn)) return conn;
    pool_give(&w->connections, conn);
    return NULL;
}

void connection_accepted(server_worker *w, int fd, const io_address *peer)
{
    connection *conn = worker_has_room(w) ? connection_take(w, fd, peer) : NULL;
    if (!conn) {
        w->refused++;
        w->self.loop.backend->discard(&w->self.loop, fd);
        return;
    }
    connection_set_state(conn, CONNECTION_IDLE);
    io_recv(&w->self.loop, &conn->stream);
}

const io_address *connection_peer(connection *conn)
{
    io_peer(&conn->worker->self.loop, &conn->stream, &conn->peer);
    return &conn->peer;
}

// Whether the deadline waits, as there is input that may be what it is for: this worker has been
// busy, or the process was stopped.
__attribute__((cold)) static bool connection_reads_first(connection *conn)
{
    io_loop *loop = &conn->worker->self.loop;
    if (!(conn->stream.flags & IO_WANT_RECV) || conn->looks == CONNECTION_LOOKS_MAX) return false;
    if (!io_has_input(loop, &conn->stream)) return false;
    conn->looks++;
    connection_deadline_set(conn, 1); // the next tick
    return true;
}

// While our disk is slow, nobody can say that the peer is.
__attribute__((cold)) static void connection_look_at_progress(connection *conn)
{
    if (conn->stream.flags & IO_COLD) {
        conn->session->looked = false;
    } else if (session_is_too_slow(conn->session)) {
        if (conn->state != CONNECTION_CONTENT || !connection_reads_first(conn))
            connection_cut(conn);
        return;
    }
    conn->looks = 0;
    connection_deadline_set(conn, session_look_ns(&conn->worker->self));
    if (session_read_once(conn->session)) io_recv(&conn->worker->self.loop, &conn->stream);
}

__attribute__((cold)) static void connection_give_up(connection *conn, int status)
{
    session_timed_out(conn->session, status);
    connection_settle(conn);
}

// The answer that has begun cannot be completed. What was queued of it has left, and may still be
// on its way.
__attribute__((cold)) static void connection_break_off(connection *conn)
{
    connection_drop_session(conn, SKUA_END_TIMEOUT);
    connection_linger(conn);
}

__attribute__((cold)) static void connection_look_at_silence(connection *conn)
{
    skua_request *r = conn->session->carrier.current;
    int64_t most = connection_silence_ns(conn);
    if (most && session_silent_ns(conn->session) >= most) {
        if (r->reading == READING_TUNNEL && connection_reads_first(conn)) return;
        if (r->answering == ANSWER_NONE) connection_give_up(conn, 503);
        else connection_break_off(conn);
        return;
    }
    if (waiting_is_forgotten(r)) waiting_complain(r);
    connection_await_handler(conn);
}

// What the peer owes in that time at the minimum rate, and a little more.
static uint32_t connection_owed(const skua_config *config, int64_t ns)
{
    uint64_t octets = config->rate_octets_min * (uint64_t)(ns / 1000000) / 1000 + 1;
    return octets < CONNECTION_PATIENCE_MAX ? (uint32_t)octets : CONNECTION_PATIENCE_MAX;
}

// The time for draining is over. What the kernel has for the peer still may leave as long as the
// peer takes it; when it does not, that memory is taken back.
__attribute__((cold)) static void connection_look_at_linger(connection *conn)
{
    const skua_config *config = worker_config(&conn->worker->self);
    uint64_t untaken = io_unsent(&conn->worker->self.loop, &conn->stream);
    if (untaken == 0 || conn->worker->self.disk.draining) {
        connection_close(conn);
        return;
    }
    int64_t look_ns = session_look_ns(&conn->worker->self);
    if (!conn->patience) {
        conn->patience = connection_owed(config, config->stall_timeout_ns);
    } else {
        uint32_t owed = connection_owed(config, look_ns);
        uint64_t paid = conn->patience + (conn->untaken > untaken ? conn->untaken - untaken : 0);
        if (paid > CONNECTION_PATIENCE_MAX) paid = CONNECTION_PATIENCE_MAX;
        if (paid <= owed) {
            connection_cut(conn);
            return;
        }
        conn->patience = (uint32_t)paid - owed;
    }
    conn->untaken = untaken < UINT32_MAX ? (uint32_t)untaken : UINT32_MAX;
    connection_deadline_set(conn, look_ns);
}

void connection_deadline(io_deadline *deadline, void *user)
{
    (void)user;
    connection *conn = (connection *)(void *)((char *)deadline - offsetof(connection, deadline));
    switch ((connection_state)conn->state) {
    case CONNECTION_IDLE:
        // Octets are queued that the kernel would not take at all: from here on they are watched.
        if (conn->session) connection_settle(conn);
        else if (!connection_reads_first(conn)) connection_linger(conn);
        return;
    case CONNECTION_HEAD:
        if (!connection_reads_first(conn)) connection_give_up(conn, 408);
        return;
    case CONNECTION_CONTENT:
    case CONNECTION_SENDING: connection_look_at_progress(conn); return;
    case CONNECTION_HANDLER:
    case CONNECTION_STREAM: connection_look_at_silence(conn); return;
    case CONNECTION_LINGER: connection_look_at_linger(conn); return;
    case CONNECTION_CLOSED: return;
    }
}

// ---- Public ----

static void connection_expect(const skua_connection *conn, const char *function)
{
    if (!conn) contract_broken(function, "connection must not be NULL");
    if (!(conn->stream.item.generation & 1))
        contract_broken(function,
                        "the connection is gone; it is there until on_close has returned");
    if (!home_is_here(&conn->worker->self))
        contract_broken(function,
                        "called on another thread than the connection's worker; use skua_post");
}

size_t skua_connection_peer(const skua_connection *conn, char *text, size_t room)
{
    connection_expect(conn, __func__);
    CONTRACT(text || !room, "text must not be NULL");
    void *itself = pool_at(&conn->worker->connections, conn->stream.item.slot);
    return io_address_write(connection_peer(itself), text, room);
}

uint64_t skua_connection_id(const skua_connection *conn)
{
    connection_expect(conn, __func__);
    return (uint64_t)conn->worker->self.index << 48 | (uint64_t)conn->id_high << 32 | conn->id_low;
}

skua_worker *skua_connection_worker(const skua_connection *conn)
{
    connection_expect(conn, __func__);
    return &conn->worker->self;
}

void skua_connection_set(skua_connection *conn, void *object)
{
    connection_expect(conn, __func__);
    conn->object = object;
}

void *skua_connection_get(const skua_connection *conn)
{
    connection_expect(conn, __func__);
    return conn->object;
}

skua_connection *skua_request_connection(const skua_request *r)
{
    request_expect(r, __func__);
    if (r->life == LIFE_IS_OVER) return NULL;
    return (connection *)(void *)session_of(r->carrier)->link.stream;
}

void skua_request_close(skua_request *r)
{
    request_expect(r, __func__);
    if (r->answering != ANSWER_QUEUED) r->close = true;
}
