// SPDX-License-Identifier: MIT
//
// Client: the address that a request is from: the peer's, or the one that trusted proxies report.
// It is determined when it is first asked for.
#ifndef SKUA_EXCHANGE_CLIENT_H
#define SKUA_EXCHANGE_CLIENT_H

#include "exchange/blocking.h"
#include "exchange/carrier.h"
#include "exchange/request.h"
#include "exchange/worker.h"

// Whether a peer is in a list of proxies.
bool client_is_trusted(const network_list *trusted, const io_address *peer);

// The address of the connection, whoever has named it. It may not have been asked for yet.
static inline const io_address *client_address(const skua_request *r)
{
    return r->call ? blocking_peer(r->call) : r->carrier->session->link.peer;
}

// By which the client is known, at the address where the request has come in.
static inline skua_forwarded client_source(const skua_request *r)
{
    return (skua_forwarded)(client_address(r)->facts & IO_ADDRESS_SOURCE);
}

// Whether proxies may have a say. Nothing else is asked for when they may not.
static inline bool client_is_forwarded(const skua_request *r)
{
    return client_source(r) != SKUA_FORWARDED_NONE;
}

// Writes the client's address or name, NUL-terminated, cut to room. The request's connection must be
// there. Returns: the length.
size_t client_write(const skua_request *r, char *text, size_t room);

// The same of the connection's peer, whoever it speaks for.
size_t client_write_peer(const skua_request *r, char *text, size_t room);

// Whether the client's connection is protected, where client_is_forwarded. otherwise: what is so
// if no trusted proxy says anything of it.
bool client_is_secure(const skua_request *r, bool otherwise);

// Whether the peer is a trusted proxy, and the head could be read.
bool client_is_named_by_peer(const skua_request *r);

#endif
