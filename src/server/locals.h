// SPDX-License-Identifier: MIT
//
// Locals: objects that each worker has one of, under a key of the server. They can be added and
// removed while workers run.
#ifndef SKUA_SERVER_LOCALS_H
#define SKUA_SERVER_LOCALS_H

#include "server/worker.h"

// Drops all of a worker that is ending.
void locals_drop_all(server_worker *w);

// Asks all of a worker's to give descriptors back; returns whether any did.
bool locals_evict(server_worker *w);

// Tells those that have what can be made again to give it back.
void locals_shrink(server_worker *w);

#endif
