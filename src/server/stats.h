// SPDX-License-Identifier: MIT
//
// Statistics: what the workers of a server have counted, together.
#ifndef SKUA_SERVER_STATS_H
#define SKUA_SERVER_STATS_H

#include "server/server.h"

// The figures of the worker of that index, which go on from an earlier run's; NULL when memory ran out.
// Thread: the starter.
figures *stats_of_worker(skua_server *server, unsigned index);

// Called when no worker is left, and no thread reads statistics any more.
void stats_free(skua_server *server);

#endif
