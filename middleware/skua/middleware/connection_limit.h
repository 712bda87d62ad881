// SPDX-License-Identifier: MIT
//
// Limits the connections of one client, over all workers. A client is an IPv4 address, or the /64 network of an IPv6
// address. A connection beyond the limit is closed before anything is read. Behind a proxy all connections are the
// proxy's, unless it uses the PROXY protocol.
//
//     static skua_connection_limit limit = { .connections_max = 20 };
//     static bool on_connect(skua_connection *connection, void *user)
//     {
//         return skua_connection_limit_take(connection, &limit);
//     }
//     static void on_close(skua_connection *connection, void *user)
//     {
//         skua_connection_limit_give(connection, &limit);
//     }
#ifndef SKUA_MIDDLEWARE_CONNECTION_LIMIT_H
#define SKUA_MIDDLEWARE_CONNECTION_LIMIT_H

#include "limit_network.h"
#include "limit_table.h"

// Static, or zeroed; its table is in use until the server is freed.
typedef struct skua_connection_limit {
    unsigned connections_max; // 0: no limit
    skua_limit_table table;   // its own
} skua_connection_limit;

// To be called in skua_config.on_connect, as the last thing that may refuse. What the connection has by
// skua_connection_set is this limit's. Returns: false: there are as many already.
static inline bool skua_connection_limit_take(skua_connection *connection,
                                              skua_connection_limit *limit)
{
    const skua_limit_rates rates = { 0, 0, 0, limit->connections_max };
    skua_limit_entry *entry = NULL;
    char key[128];
    size_t len = skua_limit_network(key, skua_connection_peer(connection, key, sizeof key));
    if (skua_limit_take(&limit->table, &rates, key, len, &entry) > 0) return false;
    skua_connection_set(connection, entry);
    return true;
}

// To be called in skua_config.on_close.
static inline void skua_connection_limit_give(skua_connection *connection,
                                              skua_connection_limit *limit)
{
    skua_limit_entry *entry = (skua_limit_entry *)skua_connection_get(connection);
    if (entry) skua_limit_give(&limit->table, entry, 0);
}

#endif
