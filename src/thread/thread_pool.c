// SPDX-License-Identifier: MIT
//
// Thread pool: a queue, a lock that is held for a few instructions, and threads that end when told.
// Invariant: idle counts the threads that are not inside a task, among them those just started;
// while threads may be added, no task waits for one that is busy.

#include "thread/thread_pool.h"

#include "base/memory.h"

#include <pthread.h>
#include <signal.h>

struct thread_pool {
    unsigned threads_max, queue_max;
    struct {
        pthread_mutex_t lock;
        pthread_cond_t more;
        task *first, **last;
        unsigned queued, idle, threads;
        bool ending;
    } shared;
    pthread_t thread[]; // room for threads_max
};

thread_pool *thread_pool_new(unsigned threads_max, unsigned queue_max)
{
    thread_pool *c = memory_zeroed(sizeof *c + threads_max * sizeof(pthread_t));
    if (!c) return NULL;
    c->threads_max = threads_max;
    c->queue_max = queue_max;
    pthread_mutex_init(&c->shared.lock, NULL);
    pthread_cond_init(&c->shared.more, NULL);
    c->shared.last = &c->shared.first;
    return c;
}

void thread_pool_free(thread_pool *c)
{
    if (!c) return;
    pthread_mutex_lock(&c->shared.lock);
    c->shared.ending = true;
    unsigned threads = c->shared.threads;
    pthread_cond_broadcast(&c->shared.more);
    pthread_mutex_unlock(&c->shared.lock);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(c->thread[i], NULL);
    pthread_cond_destroy(&c->shared.more);
    pthread_mutex_destroy(&c->shared.lock);
    memory_free(c);
}

// The next task; NULL when there will be none.
static task *thread_pool_next(thread_pool *c)
{
    while (!c->shared.first && !c->shared.ending)
        pthread_cond_wait(&c->shared.more, &c->shared.lock);
    task *work = c->shared.first;
    if (!work) return NULL;
    c->shared.first = work->next;
    if (!c->shared.first) c->shared.last = &c->shared.first;
    c->shared.queued--;
    return work;
}

static void *thread_pool_thread(void *user)
{
    thread_pool *c = user;
    pthread_mutex_lock(&c->shared.lock);
    for (task *work; (work = thread_pool_next(c));) {
        c->shared.idle--;
        pthread_mutex_unlock(&c->shared.lock);
        work->run(work);
        pthread_mutex_lock(&c->shared.lock);
        c->shared.idle++;
    }
    pthread_mutex_unlock(&c->shared.lock);
    return NULL;
}

// Called with the lock held. These threads take no signals: those are the program's.
static void thread_pool_grow(thread_pool *c)
{
    if (c->shared.idle > c->shared.queued || c->shared.threads == c->threads_max) return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (pthread_create(&c->thread[c->shared.threads], NULL, thread_pool_thread, c) == 0) {
        c->shared.threads++;
        c->shared.idle++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Called with the lock held.
static skua_status thread_pool_put(thread_pool *c, task *work)
{
    thread_pool_grow(c);
    if (c->shared.threads == 0) return SKUA_ENOMEM;
    if (c->shared.queued >= (uint64_t)c->queue_max + c->shared.idle) return SKUA_ELIMIT;
    work->next = NULL;
    *c->shared.last = work;
    c->shared.last = &work->next;
    c->shared.queued++;
    pthread_cond_signal(&c->shared.more);
    return SKUA_OK;
}

skua_status thread_pool_submit(thread_pool *c, task *work)
{
    pthread_mutex_lock(&c->shared.lock);
    skua_status status = thread_pool_put(c, work);
    pthread_mutex_unlock(&c->shared.lock);
    return status;
}

unsigned thread_pool_busy(thread_pool *c)
{
    pthread_mutex_lock(&c->shared.lock);
    unsigned busy = c->shared.threads - c->shared.idle;
    pthread_mutex_unlock(&c->shared.lock);
    return busy;
}
