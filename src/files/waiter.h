// SPDX-License-Identifier: MIT
//
// Waiter: a request on a worker that waits until helper threads have done something with a file.
#ifndef SKUA_FILES_WAITER_H
#define SKUA_FILES_WAITER_H

#include "skua/skua.h"

// done is called once, on the worker; what was waited for may have failed.
typedef struct file_waiter {
    void (*done)(struct file_waiter *waiter);
    struct file_waiter *next;
    skua_request *request; // held until then; it may be gone
} file_waiter;

static inline void file_waiters_tell(file_waiter *waiter)
{
    while (waiter) {
        file_waiter *next = waiter->next;
        waiter->done(waiter);
        waiter = next;
    }
}

#endif
