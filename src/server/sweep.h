// SPDX-License-Identifier: MIT
//
// Sweep: frees memory that a worker keeps for later connections, requests and responses, down to
// what the last minute needed.
#ifndef SKUA_SERVER_SWEEP_H
#define SKUA_SERVER_SWEEP_H

#include "server/worker.h"

// Starts to sweep the worker once a minute, until it has nothing to give back.
void sweep_start(server_worker *w);

// Called for each connection: only the first one of an idle worker starts anything.
static inline void sweep_follow(server_worker *w)
{
    if (!w->sweeping.due) sweep_start(w);
}

// The minute is over: frees what it has not needed.
void sweep_now(server_worker *w);

// Memory is short: frees all that is kept for later.
void sweep_everything(server_worker *w);

#endif
