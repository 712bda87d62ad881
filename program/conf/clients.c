// SPDX-License-Identifier: MIT
//
// There is an entry for each client that has a connection, and no other: as many as there can be connections. The lock is
// taken when one comes and when it goes, never for a request.

#include "conf/clients.h"

#include "conf/network.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { CLIENTS_ROWS = 16384, CLIENTS_PEER_OCTETS = 128, CLIENTS_NETWORK_OCTETS = 8 };

typedef struct client {
    unsigned char address[CONF_NETWORK_OCTETS];
    unsigned connections;
    struct client *next;
} client;

static struct {
    struct {
        atomic_uint
            most; // connections of one client; 0: as many as there can be, and nobody counts them
        pthread_mutex_t lock; // of the rows
        client *rows[CLIENTS_ROWS];
    } shared;
    uint64_t seed; // so that nobody outside knows the rows
} clients = { .shared.lock = PTHREAD_MUTEX_INITIALIZER };

// Returns: false for what has no address, as a client of a Unix socket.
static bool clients_address(const char *peer, unsigned char address[CONF_NETWORK_OCTETS])
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    bool is_written_as_4;
    if (!conf_network_address(peer, address, &is_written_as_4)) return false;
    bool is_4 = memcmp(address, mapped, sizeof mapped) == 0;
    if (!is_4) memset(address + CLIENTS_NETWORK_OCTETS, 0, CLIENTS_NETWORK_OCTETS);
    return true;
}

static client **clients_row(const unsigned char address[CONF_NETWORK_OCTETS])
{
    uint64_t hash = clients.seed;
    for (size_t i = 0; i < CONF_NETWORK_OCTETS; i++) {
        hash = (hash ^ address[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return &clients.shared.rows[hash % CLIENTS_ROWS];
}

static client **clients_find(const unsigned char address[CONF_NETWORK_OCTETS])
{
    client **at = clients_row(address);
    while (*at && memcmp((*at)->address, address, CONF_NETWORK_OCTETS) != 0)
        at = &(*at)->next;
    return at;
}

// The entry, with one connection more. NULL: it has as many as it may, or *is_out: there is no memory for one.
static client *clients_add(const unsigned char address[CONF_NETWORK_OCTETS], unsigned most,
                           bool *is_out)
{
    (void)pthread_mutex_lock(&clients.shared.lock);
    client **at = clients_find(address), *found = *at ? *at : calloc(1, sizeof *found);
    *is_out = !found;
    if (found && !*at) {
        memcpy(found->address, address, CONF_NETWORK_OCTETS);
        *at = found;
    }
    bool may = found && found->connections < most;
    if (may) found->connections++;
    (void)pthread_mutex_unlock(&clients.shared.lock);
    return may ? found : NULL;
}

static void clients_remove(client *of)
{
    (void)pthread_mutex_lock(&clients.shared.lock);
    client **at = clients_find(of->address);
    if (--of->connections == 0) {
        *at = of->next;
        free(of);
    }
    (void)pthread_mutex_unlock(&clients.shared.lock);
}

static bool clients_trusts(const conf *from, const char *peer)
{
    for (unsigned i = 0; i < from->trusted_count; i++)
        if (conf_network_has(&from->trusted[i], peer)) return true;
    return false;
}

static bool clients_connect(skua_connection *connection, void *user)
{
    const conf *from = user;
    unsigned char address[CONF_NETWORK_OCTETS];
    char peer[CLIENTS_PEER_OCTETS];
    bool is_out = false;
    unsigned most = atomic_load_explicit(&clients.shared.most, memory_order_relaxed);
    if (!most) return true;
    (void)skua_connection_peer(connection, peer, sizeof peer);
    if (clients_trusts(from, peer) || !clients_address(peer, address)) return true;
    client *of = clients_add(address, most, &is_out);
    if (of) skua_connection_set(connection, of);
    return of || is_out;
}

static void clients_close(skua_connection *connection, void *user)
{
    client *of = skua_connection_get(connection);
    (void)user;
    if (of) clients_remove(of);
}

void conf_clients_bound(const conf *from)
{
    atomic_store_explicit(&clients.shared.most, from->client_connections_max, memory_order_relaxed);
}

void conf_clients_count(conf *from, skua_config *config)
{
    conf_clients_bound(from);
    if (!clients.seed && getentropy(&clients.seed, sizeof clients.seed) != 0) clients.seed = 1;
    config->on_connect = clients_connect;
    config->on_close = clients_close;
    config->hook_user = from;
}
