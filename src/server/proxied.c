// SPDX-License-Identifier: MIT
//
// Connections that begin with the header of the PROXY protocol. The program hears of them when it has been
// read, so that on_connect is told of the client. Until then the place of the program's object has the
// header.

#include "server/proxied.h"

#include "base/assert.h"
#include "base/memory.h"
#include "exchange/client.h"
#include "http/proxy_header.h"
#include "io/socket.h"
#include "server/connection_accept.h"
#include "server/connection_deadline.h"
#include "server/server.h"

#include <stdio.h>

typedef struct proxied {
    proxy_header header;
    bool secure; // TLS is spoken behind it
} proxied;

enum { PROXIED_PEER_OCTETS = 64, PROXIED_LINE_OCTETS = 256 };

static void proxied_say(connection *conn, const char *what, const char *why)
{
    char peer[PROXIED_PEER_OCTETS], line[PROXIED_LINE_OCTETS];
    (void)io_address_write(connection_peer(conn), peer, sizeof peer);
    int len =
        snprintf(line, sizeof line, "PROXY protocol: a connection from %s %s%s", peer, what, why);
    if (len > 0) skua_log(conn->worker->self.server, slice_make(line, (size_t)len));
}

bool proxied_is_trusted(connection *conn)
{
    if (client_is_trusted(conn->worker->self.trusted, connection_peer(conn))) return true;
    proxied_say(conn, "is refused: it is not in trusted", "");
    return false;
}

bool proxied_begin(connection *conn, bool secure)
{
    proxied *p = memory_zeroed(sizeof *p);
    if (!p) return false;
    p->secure = secure;
    SKUA_ASSERT(!conn->object);
    conn->object = p;
    io_stream_set_events(&conn->stream, ENDPOINT_PROXIED_SERVER);
    return true;
}

static void proxied_give(connection *conn)
{
    memory_free(conn->object);
    conn->object = NULL;
}

// The connection's own address stays where the header has none.
static void proxied_name_client(connection *conn, const proxy_header *header)
{
    io_address *peer = &conn->peer;
    if (header->tls) peer->facts |= IO_ADDRESS_TLS;
    if (!header->family) return;
    if (peer->family == IO_FAMILY_UNIX) peer->facts |= IO_ADDRESS_OVER_UNIX;
    _Static_assert(sizeof peer->octets == sizeof header->octets, "addresses");
    memcpy(peer->octets, header->octets, sizeof peer->octets);
    peer->family = header->family;
    peer->port = header->port;
}

// From here on the program knows of it, if it wants it.
static void proxied_open(connection *conn, char *octets, size_t len)
{
    proxied *p = conn->object;
    bool secure = p->secure;
    proxied_name_client(conn, &p->header);
    proxied_give(conn);
    if (!connection_welcome(conn)) {
        conn->object = NULL; // the program's
        figure_add(&conn->worker->self.figures->shared.refused, 1);
        connection_close(conn);
        return;
    }
    io_stream_set_events(&conn->stream, ENDPOINT_SERVER);
    if (!connection_begin(conn, secure)) {
        connection_close(conn);
        return;
    }
    if (len)
        io_events_of(&conn->worker->self.loop, &conn->stream)->received(&conn->stream, octets, len);
}

static void proxied_received(io_stream *stream, char *octets, size_t len)
{
    connection *conn = connection_of(stream);
    proxied *p = conn->object;
    if (conn->state == CONNECTION_LINGER) {
        connection_drain(conn, len);
        return;
    }
    slice rest = slice_make(octets, len);
    switch (proxy_header_read(&p->header, &rest)) {
    case PROXY_NEEDS_MORE: return;
    case PROXY_WRONG:
        proxied_say(conn, "is ended: ", p->header.why);
        connection_close(conn);
        return;
    case PROXY_COMPLETE: proxied_open(conn, octets + (len - rest.len), rest.len); return;
    }
}

// The program has not been told of it.
static void proxied_closed(io_stream *stream)
{
    connection *conn = connection_of(stream);
    proxied_give(conn);
    connection_forget(conn);
}

static void proxied_ended(io_stream *stream, io_end how)
{
    connection_role.events.ended(stream, how);
}

// A proxy that has not said whom it serves is as one that is idle.
static void proxied_hurried(endpoint *end)
{
    connection *conn = connection_of(&end->stream);
    server_worker *w = conn->worker;
    if (conn->state != CONNECTION_HANDSHAKE) connection_hurried(end);
    else io_deadline_set(&w->self.loop.timers, &conn->deadline, w->keep_alive_ns);
}

const endpoint_role proxied_role = {
    .events = { .received = proxied_received, .ended = proxied_ended, .closed = proxied_closed },
    .timed_out = connection_timed_out,
    .hurry = proxied_hurried,
    .abort = connection_aborted,
};
