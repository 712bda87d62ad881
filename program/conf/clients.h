// SPDX-License-Identifier: MIT
//
// Connections of one client, over all workers: who has as many as he may gets no more, so that none can take all of a
// server's. A client is an address, and of IPv6 its network of 64 bits.
#ifndef PROGRAM_CONF_CLIENTS_H
#define PROGRAM_CONF_CLIENTS_H

#include "conf/conf.h"

// The server of a configuration counts them, where it says how many there may be. Proxies that it trusts may have more.
// from: stays while the server is there.
void conf_clients_count(conf *from, skua_config *config);

#endif
