// SPDX-License-Identifier: MIT
//
// Lookup: the addresses of the store's host. A helper thread looks the name up for each connection,
// because another machine may have taken the store over.
#ifndef SKUA_BRIDGE_LOOKUP_H
#define SKUA_BRIDGE_LOOKUP_H

#include "skua/skua.h"

#ifdef SKUA_REDIS

enum { BRIDGE_ADDRESSES_MAX = 8, BRIDGE_ADDRESS_OCTETS = 64 };

// Zeroed, nothing is known. host and done are the owner's.
typedef struct bridge_lookup {
    const char *host;
    void (*done)(void *user);
    void *user;
    unsigned count; // 0: it has failed
    char addresses[BRIDGE_ADDRESSES_MAX][BRIDGE_ADDRESS_OCTETS];
} bridge_lookup;

// Looks the host up, and calls done on the worker, now or later. The worker does not end before.
// Returns: false when it cannot be begun; done is not called then.
bool bridge_lookup_start(bridge_lookup *lookup, skua_worker *worker);

#endif
#endif
