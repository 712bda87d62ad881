// SPDX-License-Identifier: MIT
//
// Hooks of connections: what the program finds out about one, and keeps with it.

#include "base/contract.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "io/socket.h"
#include "server/connection.h"
#include "server/worker.h"

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
    return connection_of(r->carrier->session->link.stream);
}
