// SPDX-License-Identifier: MIT
//
// Worker, as HTTP/2 knows it.
#ifndef SKUA_H2_WORKER_H
#define SKUA_H2_WORKER_H

#ifndef SKUA_NO_HTTP2

#include "exchange/worker.h"

// Frees what HTTP/2 keeps for the next connections.
void h2_worker_free_all(skua_worker *w);

// Frees that of it that has not been used since the last sweep.
// Returns: octets that were freed.
size_t h2_worker_sweep(skua_worker *w);

// Room for the octets of a head; the worker's. NULL when memory ran out.
char *h2_worker_text(skua_worker *w);

#endif
#endif
