// SPDX-License-Identifier: MIT
//
// An arrival becomes a connection: behind its proxy's header, under TLS, or in the clear.

#include "server/connection_accept.h"

#include "server/proxied.h"
#include "server/secure.h"
#include "server/server.h"
#include "server/sweep.h"
#include "server/transported.h"
#include "server/worker.h"

bool connection_welcome(connection *conn)
{
    const skua_config *config = worker_config(&conn->worker->self);
    return !config->on_connect || config->on_connect(conn, config->hook_user);
}

static bool connection_secure(connection *conn)
{
    transport *t = secure_accept(conn->worker);
    if (t) transported_begin(conn, t);
    return t != NULL;
}

bool connection_begin(connection *conn, bool secure)
{
    if (secure && !connection_secure(conn)) return false;
    connection_enter(conn, secure ? CONNECTION_HANDSHAKE : CONNECTION_IDLE);
    return true;
}

static bool connection_is_proxied(const arrival *came)
{
    return (came->peer.facts & IO_ADDRESS_SOURCE) == SKUA_FORWARDED_PROXY;
}

// The program is asked when the proxy has named the client.
__attribute__((cold)) static bool connection_begin_proxied(connection *conn, bool secure)
{
    if (!proxied_is_trusted(conn) || !proxied_begin(conn, secure)) return false;
    connection_enter(conn, CONNECTION_HANDSHAKE);
    connection_deadline_set(conn, worker_config(&conn->worker->self)->head_timeout_ns);
    return true;
}

static bool connection_begin_asked(connection *conn, bool secure)
{
    if (secure && !connection_secure(conn)) return false;
    if (!connection_welcome(conn)) {
        if (conn->has_transport) transported_give(conn);
        return false;
    }
    connection_enter(conn, secure ? CONNECTION_HANDSHAKE : CONNECTION_IDLE);
    return true;
}

static connection *connection_take(server_worker *w, const arrival *came)
{
    connection *conn = pool_take(&w->connections);
    if (!conn) return NULL;
    sweep_follow(w);
    figure_add(&w->self.figures->shared.opened, 1);
    if (w->self.tells & TELL_FIGURES)
        figure_add(&w->self.figures->shared.states[CONNECTION_IDLE], 1);
    io_stream_open(&conn->stream, came->fd);
    uint64_t number = ++w->accepted;
    conn->worker = w;
    conn->peer = came->peer;
    conn->id_high = (uint16_t)(number >> 32);
    conn->id_low = (uint32_t)number;
    if (worker_config(&w->self)->on_close)
        (void)connection_peer(conn); // then it is too late to ask
    bool begun = connection_is_proxied(came) ? connection_begin_proxied(conn, came->secure)
                                             : connection_begin_asked(conn, came->secure);
    if (begun) return conn;
    connection_give(conn);
    return NULL;
}

void connection_accepted(server_worker *w, const arrival *came)
{
    connection *conn = worker_has_room(w) ? connection_take(w, came) : NULL;
    figure_add(&w->self.figures->shared.accepted, 1);
    if (!conn) {
        figure_add(&w->self.figures->shared.refused, 1);
        w->self.loop.backend->discard(&w->self.loop, came->fd);
        return;
    }
    w->serving++;
    io_recv(&w->self.loop, &conn->stream);
}
