// SPDX-License-Identifier: MIT
//
// Spares: a few buffers of big messages that a worker keeps for the next ones. Memory of that length would
// otherwise come from the system and go back for each message, page by page.
#ifndef SKUA_WS_SPARE_H
#define SKUA_WS_SPARE_H
#ifndef SKUA_NO_WEBSOCKET

#include "exchange/worker.h"

// The longest that is kept holds a message of 64 KiB with what stands around it.
enum { WS_SPARE_OCTETS_MIN = 8192, WS_SPARE_OCTETS_MAX = 65536 + 4096 };

// Counted memory of at least that length, for ws_spare_give; NULL when nothing of that length is kept.
void *ws_spare_find(skua_worker *w, size_t octets);

// Keeps counted memory for the next message, or frees it. memory: NULL is allowed.
void ws_spare_give(skua_worker *w, void *memory);

// Frees what no message has used since the last sweep.
// Returns: octets that were freed.
size_t ws_spare_sweep(skua_worker *w);

void ws_spare_free_all(skua_worker *w);

#endif
#endif
