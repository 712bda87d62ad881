// SPDX-License-Identifier: MIT
//
// Muster: a lock and a condition, used once per thread and start.

#include "server/muster.h"

void muster_init(muster *m)
{
    pthread_mutex_init(&m->shared.lock, NULL);
    pthread_cond_init(&m->shared.changed, NULL);
    muster_again(m);
}

void muster_deinit(muster *m)
{
    pthread_cond_destroy(&m->shared.changed);
    pthread_mutex_destroy(&m->shared.lock);
}

void muster_again(muster *m)
{
    m->shared.reported = 0;
    m->shared.status = SKUA_OK;
    m->shared.order = MUSTER_WAIT;
}

muster_order muster_report(muster *m, skua_status status)
{
    pthread_mutex_lock(&m->shared.lock);
    m->shared.reported++;
    if (!m->shared.status) m->shared.status = status;
    pthread_cond_broadcast(&m->shared.changed);
    while (m->shared.order == MUSTER_WAIT)
        pthread_cond_wait(&m->shared.changed, &m->shared.lock);
    muster_order order = m->shared.order;
    pthread_mutex_unlock(&m->shared.lock);
    return order;
}

skua_status muster_hear(muster *m, unsigned threads)
{
    pthread_mutex_lock(&m->shared.lock);
    while (m->shared.reported < threads)
        pthread_cond_wait(&m->shared.changed, &m->shared.lock);
    skua_status status = m->shared.status;
    pthread_mutex_unlock(&m->shared.lock);
    return status;
}

void muster_tell(muster *m, muster_order order)
{
    pthread_mutex_lock(&m->shared.lock);
    m->shared.order = order;
    pthread_cond_broadcast(&m->shared.changed);
    pthread_mutex_unlock(&m->shared.lock);
}
