// SPDX-License-Identifier: MIT
//
// Polls of a worker: descriptors of the program's or of another library's that its loop waits for.
#ifndef SKUA_SERVER_POLL_H
#define SKUA_SERVER_POLL_H

#include "server/worker.h"

enum { POLLS_MAX = 16384 }; // of a worker

// Whether there are any.
bool polls_wait(const skua_worker *w);

// Ends those that are left, without a call.
void polls_drop(skua_worker *w);

#endif
