// SPDX-License-Identifier: MIT
//
// Fetch: an errand is the task that goes out and the letter that comes home. Each connection has at
// most one loading that is not over at once. Openings and readings may be for clients that have
// gone, who may come again for more: when there are as many errands as there can be connections,
// they are refused, so that the queue in front of the threads needs no bound.

#include "server/fetch.h"

#include "base/assert.h"
#include "base/memory.h"
#include "thread/thread_pool.h"
#include "server/server.h"
#include "server/worker.h"

typedef struct fetch_errand {
    task task; // first
    mail letter;
    io_op *op;
} fetch_errand;

static void fetch_deliver(mail *letter, void *reader)
{
    fetch_errand *errand =
        (fetch_errand *)(void *)((char *)letter - offsetof(fetch_errand, letter));
    skua_worker *w = reader;
    SKUA_ASSERT(w->fetching > 0);
    w->fetching--;
    io_complete(errand->op);
    memory_free(errand);
}

static void fetch_run(task *self)
{
    fetch_errand *errand = (fetch_errand *)(void *)self;
    skua_worker *home = errand->op->loop->owner;
    io_perform(errand->op);
    worker_post(home, &errand->letter);
}

static bool fetch_is_too_much(const skua_worker *w, const io_op *op)
{
    return op->code != IO_FILE_LOAD && w->fetching >= worker_config(w)->connections_max;
}

bool fetch_elsewhere(io_loop *loop, io_op *op)
{
    skua_worker *w = loop->owner;
    if (fetch_is_too_much(w, op)) {
        op->result = -(int64_t)SKUA_ELIMIT;
        io_complete(op);
        return true;
    }
    fetch_errand *errand = memory_alloc(sizeof *errand);
    if (!errand) return false;
    *errand = (fetch_errand){ .task = { .run = fetch_run },
                              .letter = { .deliver = fetch_deliver },
                              .op = op };
    if (thread_pool_submit(w->server->disk, &errand->task) == SKUA_OK) {
        w->fetching++;
        return true;
    }
    memory_free(errand);
    return false;
}
