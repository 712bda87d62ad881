// SPDX-License-Identifier: MIT
//
// Offload: a few helper threads for work that may block, started when there is some.
#ifndef SKUA_SERVER_OFFLOAD_H
#define SKUA_SERVER_OFFLOAD_H

#include "skua/skua.h"

typedef struct offload offload;

enum { OFFLOAD_THREADS = 4, OFFLOAD_QUEUE_MAX = 1024 };

// NULL when memory ran out.
offload *offload_new(void);

// Waits for the work that runs; what is queued still runs. NULL is allowed.
void offload_free(offload *helpers);

// See skua_offload.
skua_status offload_submit(offload *helpers, skua_worker *worker, void (*work)(void *user),
                           void (*done)(skua_worker *worker, void *user), void *user);

#endif
