// SPDX-License-Identifier: MIT
//
// Offload: work that may block goes to a few helper threads, and its result comes back by mail.
#ifndef SKUA_SERVER_OFFLOAD_H
#define SKUA_SERVER_OFFLOAD_H

#include "thread/thread_pool.h"

enum { OFFLOAD_THREADS = 4, OFFLOAD_QUEUE_MAX = 1024 };

// See skua_offload.
skua_status offload_submit(thread_pool *helpers, skua_worker *worker, void (*work)(void *user),
                           void (*done)(skua_worker *worker, void *user), void *user);

#endif
