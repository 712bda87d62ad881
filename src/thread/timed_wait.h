// SPDX-License-Identifier: MIT
//
// Waiting for another thread for a limited time, by the monotonic clock, which nobody can set.
#ifndef SKUA_THREAD_TIMED_WAIT_H
#define SKUA_THREAD_TIMED_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// Makes a condition for timed_wait_ns.  Returns false when the system has no room for it.
bool timed_wait_init(pthread_cond_t *condition);

// Waits to be signalled, for delay_ns at most. Returns false when that time passed. It may return
// true too early, as pthread_cond_wait may.
bool timed_wait_ns(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t delay_ns);

#endif
