// SPDX-License-Identifier: MIT
//
// The address of a request's client: the peer, or the client that trusted proxies name.

#include "exchange/client.h"

#include "http/forwarded.h"
#include "io/socket.h"

static const io_address *client_peer(const skua_request *r)
{
    return r->call ? blocking_peer(r->call) : session_peer(r->carrier->session);
}

bool client_is_trusted(const network_list *trusted, const io_address *peer)
{
    uint8_t octets[NETWORK_OCTETS];
    if (peer->family == IO_FAMILY_UNIX) return trusted->has_unix;
    if (peer->family == 6) return network_list_has(trusted, peer->octets);
    if (peer->family != 4) return false;
    network_map(peer->octets, octets);
    return network_list_has(trusted, octets);
}

// Reads the fields of that name, the last one first; no more than one if only_last.
static void client_read(const skua_request *r, slice name, bool only_last, forwarded_client *client,
                        void (*read)(forwarded_client *client, slice value))
{
    for (size_t i = r->head.count; i > 0; i--) {
        if (!slice_equal_nocase(head_name(&r->head, r->base, i - 1), name)) continue;
        read(client, head_value(&r->head, r->base, i - 1));
        if (only_last) return;
    }
}

// A head that could not be read has no fields to be believed.
static bool client_believes(const skua_request *r, const io_address *peer)
{
    return r->began_ns != 0 && client_is_trusted(r->worker->trusted, peer);
}

bool client_is_named_by_peer(const skua_request *r)
{
    return client_believes(r, client_peer(r));
}

// Returns: whether the peer is trusted.
__attribute__((cold)) static bool client_find(const skua_request *r, const io_address *peer,
                                              forwarded_client *client)
{
    skua_forwarded source = client_source(r);
    if (source == SKUA_FORWARDED_PROXY || !client_believes(r, peer)) return false;
    forwarded_begin(client, r->worker->trusted);
    if (source == SKUA_FORWARDED_STANDARD) {
        client_read(r, SKUA_SLICE("forwarded"), false, client, forwarded_read);
    } else {
        client_read(r, SKUA_SLICE("x-forwarded-for"), false, client, forwarded_read_for);
        client_read(r, SKUA_SLICE("x-forwarded-proto"), true, client, forwarded_read_proto);
    }
    return true;
}

__attribute__((cold)) static size_t client_write_forwarded(const skua_request *r, char *text,
                                                           size_t room)
{
    const io_address *peer = client_peer(r);
    forwarded_client client;
    if (!client_find(r, peer, &client) || client.entries == 0)
        return io_address_write(peer, text, room);
    if (client.name[0] && room) {
        size_t len = strlen(client.name);
        if (len >= room) len = room - 1;
        memcpy(text, client.name, len);
        text[len] = 0;
        return len;
    }
    io_address address = { .family = 6 };
    memcpy(address.octets, client.octets, sizeof address.octets);
    return io_address_write(&address, text, room);
}

size_t client_write(const skua_request *r, char *text, size_t room)
{
    if (client_is_forwarded(r)) return client_write_forwarded(r, text, room);
    return io_address_write(client_peer(r), text, room);
}

size_t client_write_peer(const skua_request *r, char *text, size_t room)
{
    return io_address_write(client_peer(r), text, room);
}

__attribute__((cold)) bool client_is_secure(const skua_request *r, bool otherwise)
{
    forwarded_client client;
    if (client_source(r) == SKUA_FORWARDED_PROXY)
        return otherwise || client_address(r)->facts & IO_ADDRESS_TLS;
    if (!client_find(r, client_peer(r), &client) || !client.scheme) return otherwise;
    return client.scheme == FORWARDED_SCHEME_HTTPS;
}
