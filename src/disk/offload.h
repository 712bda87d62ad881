// SPDX-License-Identifier: MIT
//
// Offload: work that may block goes to a few helper threads, and its result comes back by mail.
#ifndef SKUA_DISK_OFFLOAD_H
#define SKUA_DISK_OFFLOAD_H

enum { OFFLOAD_THREADS = 4, OFFLOAD_QUEUE_MAX = 1024 };

#endif
