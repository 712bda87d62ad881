// SPDX-License-Identifier: MIT
//
// Offload: a job is the task that goes out and the letter that comes home.

#include "disk/offload.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "disk/home.h"

typedef struct offload_job {
    task task; // first
    mail letter;
    skua_worker *worker;
    void (*work)(void *user);
    void (*done)(skua_worker *worker, void *user);
    void *user;
    work_tie tie;
} offload_job;

static void offload_deliver(mail *letter, void *reader)
{
    offload_job *job = (offload_job *)(void *)((char *)letter - offsetof(offload_job, letter));
    disk_home *home = disk_home_of(reader);
    work_return(&job->tie, home);
    job->done(reader, job->user);
    work_end(&job->tie, home);
    SKUA_ASSERT(home->offloaded > 0);
    home->offloaded--;
    memory_free(job);
}

static void offload_run(task *self)
{
    offload_job *job = (offload_job *)(void *)self;
    job->work(job->user);
    job->letter.deliver = offload_deliver;
    disk_home_of(job->worker)->post(job->worker, &job->letter);
}

static skua_status offload_submit(disk_home *home, offload_job *job)
{
    if (!home->inline_work) return thread_pool_submit(home->helper_threads, &job->task);
    offload_run(&job->task); // so that runs replay
    return SKUA_OK;
}

skua_status skua_offload(skua_worker *w, void (*work)(void *user),
                         void (*done)(skua_worker *worker, void *user), void *user)
{
    home_expect(w, __func__);
    CONTRACT_GIVEN(work);
    CONTRACT_GIVEN(done);
    disk_home *home = disk_home_of(w);
    offload_job *job = memory_alloc(sizeof *job);
    if (!job) return SKUA_ENOMEM;
    *job = (offload_job){
        .task = { .run = offload_run }, .worker = w, .work = work, .done = done, .user = user
    };
    work_begin(&job->tie, home);
    skua_status status = offload_submit(home, job);
    if (!status) {
        home->offloaded++;
        return SKUA_OK;
    }
    work_drop(&job->tie);
    memory_free(job);
    return status;
}
