// SPDX-License-Identifier: MIT
//
// Relay: the interface of the bridge that carries publications of topics to other machines. The
// bridge is above the server, which calls it by this table.
#ifndef SKUA_SERVER_RELAY_H
#define SKUA_SERVER_RELAY_H

#include "skua/skua.h"

struct topic_message;

typedef struct server_relay server_relay;

// Functions are called on worker 0.
struct server_relay {
    // The worker begins to turn; it has ended. Nothing else is called before the one and behind the other.
    void (*begin)(server_relay *relay, skua_worker *w);
    void (*end)(server_relay *relay, skua_worker *w);
    // Carries a publication of this server's. It keeps a reference for as long as it needs one.
    void (*carry)(server_relay *relay, struct topic_message *message);
    uint64_t message_octets_max; // a longer one is not carried, and refused
};

#endif
