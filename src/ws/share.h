// SPDX-License-Identifier: MIT
//
// The share of a turn that a worker's sockets may use to inflate what they read, and the queue of those that wait for
// some of it. Who waits first is served first, and costs nothing until then.
// Invariant: while sockets wait, the worker's alarm is set.
#ifndef SKUA_WS_SHARE_H
#define SKUA_WS_SHARE_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"

typedef struct ws_waiter ws_waiter;
typedef void ws_turn_fn(void *user);

// A socket's place in the queue.
struct ws_waiter {
    ws_turn_fn *turn; // NULL: it does not wait
    void *user;
    ws_waiter *next, *previous;
};

#ifdef SKUA_ZLIB

// Octets have been inflated.
void ws_share_use(skua_worker *w, size_t octets);

// Whether nothing is left of this turn's share, or others have waited longer.
bool ws_share_is_for_others(skua_worker *w, const ws_waiter *waiter);

// Waits, behind those that do already. turn: called once from the loop, when it has not had to leave before.
// Returns: false when memory ran out.
bool ws_share_await(skua_worker *w, ws_waiter *waiter, ws_turn_fn *turn, void *user);

// Nothing if it does not wait.
void ws_share_leave(skua_worker *w, ws_waiter *waiter);

#endif
#endif
#endif
