// SPDX-License-Identifier: MIT
//
// Offload: a job is the task that goes out and the letter that comes home.

#include "server/offload.h"

#include "base/memory.h"
#include "server/server.h"
#include "server/worker.h"

typedef struct offload_job {
    task task; // first
    mail letter;
    skua_worker *worker;
    void (*work)(void *user);
    void (*done)(skua_worker *worker, void *user);
    void *user;
} offload_job;

static void offload_deliver(mail *letter, void *reader)
{
    offload_job *job = (offload_job *)(void *)((char *)letter - offsetof(offload_job, letter));
    job->done(reader, job->user);
    worker_offload_done(reader);
    memory_free(job);
}

static void offload_run(task *self)
{
    offload_job *job = (offload_job *)(void *)self;
    job->work(job->user);
    job->letter.deliver = offload_deliver;
    worker_post(job->worker, &job->letter);
}

skua_status offload_submit(thread_pool *helpers, skua_worker *worker, void (*work)(void *user),
                           void (*done)(skua_worker *worker, void *user), void *user)
{
    offload_job *job = memory_alloc(sizeof *job);
    if (!job) return SKUA_ENOMEM;
    *job = (offload_job){
        .task = { .run = offload_run }, .worker = worker, .work = work, .done = done, .user = user
    };
    if (worker->server->sim_kernel) { // there the work runs at once, so that runs replay
        offload_run(&job->task);
        return SKUA_OK;
    }
    skua_status status = thread_pool_submit(helpers, &job->task);
    if (status) memory_free(job);
    return status;
}
