// SPDX-License-Identifier: MIT
//
// Home: the part of a worker that files use. Every skua_worker begins with one.
#ifndef SKUA_DISK_HOME_H
#define SKUA_DISK_HOME_H

#include "base/contract.h"
#include "disk/work.h"
#include "io/io.h"
#include "thread/here.h"
#include "thread/mailbox.h"
#include "thread/thread_pool.h"

struct disk_home {
    const void *thread; // of the worker: what thread_here is there
    io_loop *loop;
    thread_pool *disk_threads;   // open and read what is not in memory
    thread_pool *helper_threads; // of skua_offload
    // Brings a letter to the worker.  Thread: any.
    void (*post)(skua_worker *worker, mail *letter);
    // The carrier whose callback is running; NULL: none. Its type is known to asker_of only.
    void *served;
    // Returns the asker that work of this callback belongs to; NULL: none.
    work_asker *(*asker_of)(const void *served);
    // Everything that the asker has asked for has come back.
    void (*work_is_over)(work_asker *asker);
    unsigned fetching_max; // openings and readings that threads may have at once
    unsigned file_ops;     // openings and readings of files that are not complete
    unsigned fetching;     // file operations that threads have
    unsigned offloaded;    // work that helper threads have
    bool inline_work;      // offloaded work runs at once, as the simulated kernel has no threads
    bool draining;         // the server is stopping
    bool retiring;         // it is, or is being drained: every response closes its connection
};

static inline disk_home *disk_home_of(skua_worker *w)
{
    return (disk_home *)(void *)w;
}

static inline bool home_is_here(const skua_worker *w)
{
    return __builtin_expect(((const disk_home *)(const void *)w)->thread == thread_here(), 1);
}

// Stops the process unless w is a worker and this is its thread. function: that of skua.h.
static inline void home_expect(const skua_worker *w, const char *function)
{
    if (!w) contract_broken(function, "worker must not be NULL");
    if (!home_is_here(w))
        contract_broken(function, "called on another thread than the worker's; use skua_post");
}

#endif
