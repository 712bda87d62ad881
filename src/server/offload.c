// SPDX-License-Identifier: MIT
//
// Offload: a bounded queue, a lock that no request path takes, and threads that end when told.

#include "server/offload.h"

#include "server/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

typedef struct offload_job offload_job;

struct offload_job {
    mail letter; // first: the job is the letter that brings the result home
    offload_job *next;
    skua_worker *worker;
    void (*work)(void *user);
    void (*done)(skua_worker *worker, void *user);
    void *user;
};

struct offload {
    struct {
        pthread_mutex_t lock;
        pthread_cond_t more;
        offload_job *first, **last;
        unsigned queued, idle, threads;
        bool ending;
    } shared;
    pthread_t thread[OFFLOAD_THREADS];
};

static void offload_deliver(mail *letter, void *reader)
{
    offload_job *job = (offload_job *)(void *)letter;
    job->done(reader, job->user);
    worker_offload_done(reader);
    free(job);
}

static offload_job *offload_next(offload *helpers)
{
    pthread_mutex_lock(&helpers->shared.lock);
    helpers->shared.idle++;
    while (!helpers->shared.first && !helpers->shared.ending) {
        pthread_cond_wait(&helpers->shared.more, &helpers->shared.lock);
    }
    helpers->shared.idle--;
    offload_job *job = helpers->shared.first;
    if (job) {
        helpers->shared.first = job->next;
        if (!helpers->shared.first) helpers->shared.last = &helpers->shared.first;
        helpers->shared.queued--;
    }
    pthread_mutex_unlock(&helpers->shared.lock);
    return job;
}

static void *offload_thread(void *user)
{
    for (;;) {
        offload_job *job = offload_next(user);
        if (!job) return NULL;
        job->work(job->user);
        job->letter.deliver = offload_deliver;
        worker_post(job->worker, &job->letter);
    }
}

offload *offload_new(void)
{
    offload *helpers = calloc(1, sizeof *helpers);
    if (!helpers) return NULL;
    pthread_mutex_init(&helpers->shared.lock, NULL);
    pthread_cond_init(&helpers->shared.more, NULL);
    helpers->shared.last = &helpers->shared.first;
    return helpers;
}

void offload_free(offload *helpers)
{
    if (!helpers) return;
    pthread_mutex_lock(&helpers->shared.lock);
    helpers->shared.ending = true;
    unsigned threads = helpers->shared.threads;
    pthread_cond_broadcast(&helpers->shared.more);
    pthread_mutex_unlock(&helpers->shared.lock);
    for (unsigned i = 0; i < threads; i++) pthread_join(helpers->thread[i], NULL);
    pthread_cond_destroy(&helpers->shared.more);
    pthread_mutex_destroy(&helpers->shared.lock);
    free(helpers);
}

// Called with the lock held. Helper threads take no signals: those are the program's.
static void offload_grow(offload *helpers)
{
    if (helpers->shared.idle > 0 || helpers->shared.threads == OFFLOAD_THREADS) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_t *thread = &helpers->thread[helpers->shared.threads];
    if (pthread_create(thread, NULL, offload_thread, helpers) == 0) helpers->shared.threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static skua_status offload_enqueue(offload *helpers, offload_job *job)
{
    skua_status status = SKUA_ELIMIT;
    pthread_mutex_lock(&helpers->shared.lock);
    if (helpers->shared.queued < OFFLOAD_QUEUE_MAX) {
        offload_grow(helpers);
        status = helpers->shared.threads ? SKUA_OK : SKUA_ENOMEM;
    }
    if (status == SKUA_OK) {
        *helpers->shared.last = job;
        helpers->shared.last = &job->next;
        helpers->shared.queued++;
        pthread_cond_signal(&helpers->shared.more);
    }
    pthread_mutex_unlock(&helpers->shared.lock);
    return status;
}

skua_status offload_submit(offload *helpers, skua_worker *worker, void (*work)(void *user),
                           void (*done)(skua_worker *worker, void *user), void *user)
{
    offload_job *job = malloc(sizeof *job);
    if (!job) return SKUA_ENOMEM;
    *job = (offload_job){ .worker = worker, .work = work, .done = done, .user = user };
    skua_status status = offload_enqueue(helpers, job);
    if (status) free(job);
    return status;
}
