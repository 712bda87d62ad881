// SPDX-License-Identifier: MIT
//
// Offloaded work of a request: the request is held until the work has come back, so that there is
// somebody to ask whether it still goes on.

#include "base/contract.h"
#include "base/memory.h"
#include "exchange/request.h"

typedef struct request_job {
    skua_request *request; // held
    void (*work)(void *user);
    skua_offloaded_fn *done;
    void *user;
} request_job;

// On a helper thread.
static void request_job_run(void *user)
{
    const request_job *job = user;
    job->work(job->user);
}

static void request_job_done(skua_worker *w, void *user)
{
    (void)w;
    request_job job = *(request_job *)user;
    memory_free(user);
    job.done(job.request->life == LIFE_GOES_ON ? job.request : NULL, job.user);
    skua_request_drop(job.request);
}

skua_status skua_request_offload(skua_request *r, void (*work)(void *user), skua_offloaded_fn *done,
                                 void *user)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(work);
    CONTRACT_GIVEN(done);
    if (r->life != LIFE_GOES_ON) return SKUA_ECLOSED;
    request_job *job = memory_alloc(sizeof *job);
    if (!job) return SKUA_ENOMEM;
    *job = (request_job){ .request = r, .work = work, .done = done, .user = user };
    skua_request_hold(r);
    skua_status status = skua_offload(r->worker, request_job_run, request_job_done, job);
    if (!status) return SKUA_OK;
    skua_request_drop(r);
    memory_free(job);
    return status;
}
