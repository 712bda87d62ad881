// SPDX-License-Identifier: MIT
//
// Crew: a bounded number of threads, started when there is work, and a bounded queue in front of
// them.
#ifndef SKUA_SERVER_CREW_H
#define SKUA_SERVER_CREW_H

#include "skua/skua.h"

typedef struct crew crew;
typedef struct task task;

// A piece of work, in memory of whoever hands it over. It is run's from then on, and may be gone
// when run returns.
struct task {
    task *next;
    void (*run)(task *self);
};

// queue_max: tasks that wait though every thread is busy. NULL when memory ran out.
crew *crew_new(unsigned threads_max, unsigned queue_max);

// Waits for all tasks, also those that are queued. NULL is allowed.
void crew_free(crew *c);

// Has run called once on a thread of the crew.
// Errors: SKUA_ELIMIT the queue is full; SKUA_ENOMEM there is no thread and none could be started.
// Thread: any.
skua_status crew_submit(crew *c, task *work);

// Tasks that run now.  Thread: any.
unsigned crew_busy(crew *c);

#endif
