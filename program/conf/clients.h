// SPDX-License-Identifier: MIT
//
// Connections of one client, over all workers: beyond the limit a client gets no more, so that none
// can take all connections of a server. A client is an IPv4 address, or the /64 network of an IPv6
// address.
#ifndef PROGRAM_CONF_CLIENTS_H
#define PROGRAM_CONF_CLIENTS_H

#include "conf/conf.h"

// The server of a configuration counts them, while there is a bound. Proxies that it trusts may have more.
// from: stays while the server is there.
void conf_clients_count(conf *from, skua_config *config);

// The bound is that of another configuration from now on. Connections that are there stay, and those that have been
// counted count.  Thread: any.
void conf_clients_bound(const conf *from);

#endif
