// SPDX-License-Identifier: MIT
//
// Fetch: an errand is the task that goes out and the letter that comes home. Each connection has at
// most one loading that is not over at once. Openings and readings may be for clients that have
// gone, who may come again for more: when there are as many errands as there can be connections,
// they are refused, so that the queue in front of the threads needs no bound.

#include "disk/fetch.h"

#include "base/assert.h"
#include "base/memory.h"
#include "disk/home.h"
#include "io/disk.h"

typedef struct fetch_errand {
    task task; // first
    mail letter;
    io_op *op;
} fetch_errand;

static void fetch_deliver(mail *letter, void *reader)
{
    fetch_errand *errand =
        (fetch_errand *)(void *)((char *)letter - offsetof(fetch_errand, letter));
    disk_home *home = disk_home_of(reader);
    SKUA_ASSERT(home->fetching > 0);
    home->fetching--;
    io_complete(errand->op);
    memory_free(errand);
}

static void fetch_run(task *self)
{
    fetch_errand *errand = (fetch_errand *)(void *)self;
    skua_worker *home = errand->op->loop->owner;
    io_perform(errand->op);
    disk_home_of(home)->post(home, &errand->letter);
}

static bool fetch_is_too_much(const disk_home *home, const io_op *op)
{
    return op->code != IO_FILE_LOAD && home->fetching >= home->fetching_max;
}

bool fetch_elsewhere(io_loop *loop, io_op *op)
{
    disk_home *home = disk_home_of(loop->owner);
    if (fetch_is_too_much(home, op)) {
        op->result = -(int64_t)SKUA_ELIMIT;
        io_complete(op);
        return true;
    }
    fetch_errand *errand = memory_alloc(sizeof *errand);
    if (!errand) return false;
    *errand = (fetch_errand){ .task = { .run = fetch_run },
                              .letter = { .deliver = fetch_deliver },
                              .op = op };
    if (thread_pool_submit(home->disk_threads, &errand->task) == SKUA_OK) {
        home->fetching++;
        return true;
    }
    memory_free(errand);
    return false;
}
