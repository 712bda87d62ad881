// SPDX-License-Identifier: MIT
//
// A deadline that has passed ends a connection only where its socket has been read since, and gave nothing.

#include "server/connection_deadline.h"

#include "server/server.h"
#include "server/worker.h"

// A deadline is put off so often for input that waits; each time for a tick. Then a peer that
// always has something under way is judged by what it has sent.
enum { CONNECTION_LOOKS_MAX = 100 };

// Puts the deadline off if there is input that may be what it is for: this worker has been busy, or
// the process was stopped. Returns whether it did.
__attribute__((cold)) static bool connection_read_first(connection *conn)
{
    io_loop *loop = &conn->worker->self.loop;
    if (!(conn->stream.flags & IO_WANT_RECV) || conn->looks == CONNECTION_LOOKS_MAX) return false;
    if (!io_has_input(loop, &conn->stream)) return false;
    conn->looks++;
    connection_deadline_set(conn, 1); // the next tick
    return true;
}

// A protocol that judges each of its requests does so only when it knows all that the peer has sent:
// that may be the window which one of them waits for.
static bool connection_must_read(connection *conn)
{
    return conn->session->protocol->judges && connection_read_first(conn);
}

// While our disk is slow, nobody can say that the peer is.
__attribute__((cold)) static void connection_look_at_progress(connection *conn)
{
    if (connection_must_read(conn)) return;
    if (conn->stream.flags & IO_COLD) {
        conn->session->progress.looked = false;
    } else if (session_look(conn->session)) {
        if (conn->state != CONNECTION_CONTENT || !connection_read_first(conn)) connection_cut(conn);
        return;
    }
    conn->looks = 0;
    connection_deadline_set(conn, session_look_ns(&conn->worker->self));
    if (conn->session->protocol->look(conn->session))
        io_recv(&conn->worker->self.loop, &conn->stream);
}

__attribute__((cold)) static void connection_time_out(connection *conn)
{
    if (conn->session->protocol->timed_out(conn->session)) connection_settle(conn);
    else connection_break_off(conn, SKUA_END_TIMEOUT);
}

__attribute__((cold)) static void connection_look_at_handler(connection *conn)
{
    if (connection_must_read(conn)) return;
    int64_t next = conn->session->protocol->look_at_handler(conn->session);
    if (next < 0) {
        if (!connection_read_first(conn)) connection_time_out(conn);
        return;
    }
    conn->looks = 0;
    connection_deadline_set(conn, next);
}

// The octets that a peer must take in that time, at least one: a minimum rate may be that low. Not
// more than its credit can reach, or no credit would ever suffice.
static uint32_t connection_owed(const skua_worker *w, int64_t ns)
{
    uint64_t octets = session_owed(w, ns) + 1;
    return octets < SESSION_CREDIT_MAX ? (uint32_t)octets : SESSION_CREDIT_MAX;
}

// The time for draining is over. What the kernel has for the peer still may leave as long as the
// peer takes it; when it does not, that memory is taken back.
__attribute__((cold)) static void connection_look_at_linger(connection *conn)
{
    const skua_worker *w = &conn->worker->self;
    uint64_t untaken = io_unsent(&w->loop, &conn->stream);
    if (untaken == 0 || w->disk.draining) {
        connection_close(conn);
        return;
    }
    int64_t look_ns = session_look_ns(w);
    if (!conn->patience) {
        conn->patience = connection_owed(w, worker_config(w)->stall_timeout_ns);
    } else {
        uint32_t owed = connection_owed(w, look_ns);
        uint64_t paid = conn->patience + (conn->untaken > untaken ? conn->untaken - untaken : 0);
        if (paid > SESSION_CREDIT_MAX) paid = SESSION_CREDIT_MAX;
        if (paid <= owed) {
            connection_cut(conn);
            return;
        }
        conn->patience = (uint32_t)paid - owed;
    }
    conn->untaken = untaken < UINT32_MAX ? (uint32_t)untaken : UINT32_MAX;
    connection_deadline_set(conn, look_ns);
}

// Idle for too long. A session that is kept may have something to say to that.
static void connection_take_leave(connection *conn)
{
    session *s = conn->session;
    if (!s) {
        connection_linger(conn);
        return;
    }
    s->idles = false;
    s->protocol->retire(s);
    connection_settle(conn);
}

// The server is being stopped: the times that its worker gives to who is idle and who lingers have become
// shorter. Or it is being drained: whoever is idle stays, but can be told by some protocols.
void connection_hurried(endpoint *end)
{
    connection *conn = connection_of(&end->stream);
    bool stops = conn->worker->self.disk.draining;
    if (stops && conn->state == CONNECTION_IDLE)
        connection_deadline_set(conn, conn->worker->keep_alive_ns);
    if (stops && conn->state == CONNECTION_LINGER)
        connection_deadline_set(conn, conn->worker->linger_ns);
    if (!conn->session) return;
    if (!stops && connection_is_idle(conn)) {
        connection_take_leave(conn); // HTTP/1 has no session meanwhile, and nothing to say
    } else if (!connection_is_idle(conn)) {
        conn->session->protocol->retire(conn->session);
        io_kick(&conn->worker->self.loop, &conn->stream);
    }
}

void connection_timed_out(endpoint *end)
{
    connection *conn = connection_of(&end->stream);
    switch ((connection_state)conn->state) {
    case CONNECTION_IDLE:
        // Octets are queued that the kernel would not take at all: from here on they are watched.
        if (!connection_is_idle(conn)) connection_settle(conn);
        else if (!connection_read_first(conn)) connection_take_leave(conn);
        return;
    case CONNECTION_HANDSHAKE:
        if (!connection_read_first(conn)) connection_fail(conn);
        return;
    case CONNECTION_HEAD:
        if (connection_read_first(conn)) return;
        if (conn->session || connection_activate_late(conn)) connection_time_out(conn);
        return;
    case CONNECTION_CONTENT:
    case CONNECTION_SENDING: connection_look_at_progress(conn); return;
    case CONNECTION_HANDLER:
    case CONNECTION_STREAM:
        if (conn->session) connection_look_at_handler(conn);
        else if (conn->is_parked) conn->worker->self.parks->time_out(&conn->stream);
        return;
    case CONNECTION_LINGER: connection_look_at_linger(conn); return;
    case CONNECTION_CLOSED: return;
    }
}
