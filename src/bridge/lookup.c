// SPDX-License-Identifier: MIT
//
// Lookup of the store's host.

#include "bridge/lookup.h"

#ifdef SKUA_REDIS

#include <netdb.h>
#include <string.h>
#include <sys/socket.h>

static void bridge_lookup_ask(bridge_lookup *lookup, int flags)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
    struct addrinfo *found;
    lookup->count = 0;
    if (getaddrinfo(lookup->host, NULL, &hints, &found)) return;
    for (const struct addrinfo *a = found; a && lookup->count < BRIDGE_ADDRESSES_MAX;
         a = a->ai_next) {
        if (!getnameinfo(a->ai_addr, a->ai_addrlen, lookup->addresses[lookup->count],
                         BRIDGE_ADDRESS_OCTETS, NULL, 0, NI_NUMERICHOST))
            lookup->count++;
    }
    freeaddrinfo(found);
}

// On a helper thread, while the worker leaves the lookup alone.
static void bridge_lookup_work(void *user)
{
    bridge_lookup_ask(user, AI_ADDRCONFIG);
    bridge_lookup *lookup = user;
    if (!lookup->count) bridge_lookup_ask(lookup, 0); // a machine with nothing but loopback
}

static void bridge_lookup_done(skua_worker *worker, void *user)
{
    (void)worker;
    bridge_lookup *lookup = user;
    lookup->done(lookup->user);
}

bool bridge_lookup_start(bridge_lookup *lookup, skua_worker *worker)
{
    bridge_lookup_ask(lookup, AI_NUMERICHOST);
    if (lookup->count) {
        lookup->done(lookup->user);
        return true;
    }
    return skua_offload(worker, bridge_lookup_work, bridge_lookup_done, lookup) == SKUA_OK;
}

#endif
