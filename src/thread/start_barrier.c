// SPDX-License-Identifier: MIT
//
// Start barrier: a lock and a condition, used once per thread and start.

#include "thread/start_barrier.h"

void start_barrier_init(start_barrier *b)
{
    pthread_mutex_init(&b->shared.lock, NULL);
    pthread_cond_init(&b->shared.changed, NULL);
    b->shared.inside = 0;
    start_barrier_again(b);
}

void start_barrier_deinit(start_barrier *b)
{
    pthread_cond_destroy(&b->shared.changed);
    pthread_mutex_destroy(&b->shared.lock);
}

// One that was told may not have heard it yet, and would wait again.
void start_barrier_again(start_barrier *b)
{
    pthread_mutex_lock(&b->shared.lock);
    while (b->shared.inside)
        pthread_cond_wait(&b->shared.changed, &b->shared.lock);
    b->shared.reported = 0;
    b->shared.status = SKUA_OK;
    b->shared.order = START_BARRIER_WAIT;
    pthread_mutex_unlock(&b->shared.lock);
}

start_barrier_order start_barrier_report(start_barrier *b, skua_status status)
{
    pthread_mutex_lock(&b->shared.lock);
    b->shared.reported++;
    b->shared.inside++;
    if (!b->shared.status) b->shared.status = status;
    pthread_cond_broadcast(&b->shared.changed);
    while (b->shared.order == START_BARRIER_WAIT)
        pthread_cond_wait(&b->shared.changed, &b->shared.lock);
    start_barrier_order order = b->shared.order;
    b->shared.inside--;
    pthread_cond_broadcast(&b->shared.changed);
    pthread_mutex_unlock(&b->shared.lock);
    return order;
}

skua_status start_barrier_hear(start_barrier *b, unsigned threads)
{
    pthread_mutex_lock(&b->shared.lock);
    while (b->shared.reported < threads)
        pthread_cond_wait(&b->shared.changed, &b->shared.lock);
    skua_status status = b->shared.status;
    pthread_mutex_unlock(&b->shared.lock);
    return status;
}

void start_barrier_tell(start_barrier *b, start_barrier_order order)
{
    pthread_mutex_lock(&b->shared.lock);
    b->shared.order = order;
    pthread_cond_broadcast(&b->shared.changed);
    pthread_mutex_unlock(&b->shared.lock);
}
