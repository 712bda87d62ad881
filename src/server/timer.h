// SPDX-License-Identifier: MIT
//
// Timers of a worker: an alarm, a function, and memory that goes with them.
#ifndef SKUA_SERVER_TIMER_H
#define SKUA_SERVER_TIMER_H

#include "server/worker.h"

// Frees those that are left; they fire no more.
void timers_drop(skua_worker *w);

#endif
