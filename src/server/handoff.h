// SPDX-License-Identifier: MIT
//
// Handoff: if the kernel does not distribute connections over listeners that share an address, one
// worker accepts for all and gives each socket to the next worker in turn.
#ifndef SKUA_SERVER_HANDOFF_H
#define SKUA_SERVER_HANDOFF_H

#include "server/worker.h"

// Gives a socket that w has accepted to the worker whose turn it is, or to the next one that has
// room for it;
// refuses it when none has.
void handoff_accepted(server_worker *w, const arrival *came);

// Descriptors ran out where they are accepted: has every other worker close what it can do without.
void handoff_evict(server_worker *w);

// Frees what the worker has used for it. No worker may run any more.
void handoff_end(server_worker *w);

// Frees letters that have not been used since the last sweep.
// Returns: octets that were freed.
size_t handoff_sweep(server_worker *w);

#endif
