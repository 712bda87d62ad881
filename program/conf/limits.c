// SPDX-License-Identifier: MIT

#include "conf/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct shared_limit {
    skua_limit limit; // first
    unsigned users;
    struct shared_limit *next;
    char name[];
} shared_limit;

static struct {
    pthread_mutex_t lock;
    shared_limit *first;
} limits = { .lock = PTHREAD_MUTEX_INITIALIZER };

static shared_limit *limits_find(const char *name)
{
    shared_limit *at = limits.first;
    while (at && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}

static shared_limit *limits_add(const char *name, const skua_limit *rates)
{
    size_t octets = strlen(name) + 1;
    shared_limit *added = calloc(1, sizeof *added + octets);
    if (!added) return NULL;
    added->limit.requests_per_s = rates->requests_per_s;
    added->limit.burst = rates->burst;
    added->limit.octets_per_s = rates->octets_per_s;
    added->limit.running_max = rates->running_max;
    added->next = limits.first;
    memcpy(added->name, name, octets);
    limits.first = added;
    return added;
}

skua_limit *conf_limits_get(const char *name, const skua_limit *rates)
{
    (void)pthread_mutex_lock(&limits.lock);
    shared_limit *found = limits_find(name);
    if (!found) found = limits_add(name, rates);
    if (found) found->users++;
    (void)pthread_mutex_unlock(&limits.lock);
    return found ? &found->limit : NULL;
}

void conf_limits_return(void *limit)
{
    shared_limit *returned = limit;
    if (!returned) return;
    (void)pthread_mutex_lock(&limits.lock);
    bool is_last = --returned->users == 0;
    shared_limit **place = &limits.first;
    while (is_last && *place != returned)
        place = &(*place)->next;
    if (is_last) *place = returned->next;
    (void)pthread_mutex_unlock(&limits.lock);
    if (is_last) free(returned);
}
