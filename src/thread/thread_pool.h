// SPDX-License-Identifier: MIT
//
// Thread pool: a bounded number of threads, started when there is work, and a bounded queue in
// front of them.
#ifndef SKUA_THREAD_THREAD_POOL_H
#define SKUA_THREAD_THREAD_POOL_H

#include "skua/skua.h"

typedef struct thread_pool thread_pool;
typedef struct task task;

// A piece of work, in memory of whoever hands it over. It is run's from then on, and may be gone
// when run returns.
struct task {
    task *next;
    void (*run)(task *self);
};

// queue_max: tasks that wait though every thread is busy. NULL when memory ran out.
thread_pool *thread_pool_new(unsigned threads_max, unsigned queue_max);

// Waits for all tasks, also those that are queued. NULL is allowed.
void thread_pool_free(thread_pool *c);

// Runs work->run once on a pool thread.
// Errors: SKUA_ELIMIT the queue is full; SKUA_ENOMEM there is no thread and none could be started.
// Thread: any.
skua_status thread_pool_submit(thread_pool *c, task *work);

// Tasks that run now.  Thread: any.
unsigned thread_pool_busy(thread_pool *c);

#endif
