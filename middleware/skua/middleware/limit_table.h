// SPDX-License-Identifier: MIT
//
// The table of limit.h and connection_limit.h. Its size is fixed, with eight keys in a row. A new key takes the place of
// the key that is furthest from its limits, never of one that is blocked or has requests under way, so that a flood of
// keys unblocks no client. A key that finds no place shares its limits with all keys of its row.
#ifndef SKUA_MIDDLEWARE_LIMIT_TABLE_H
#define SKUA_MIDDLEWARE_LIMIT_TABLE_H

#include "words.h"

#include <pthread.h>
#include <time.h>

enum { SKUA_LIMIT_ROWS = 512, SKUA_LIMIT_KEYS = 8 };

typedef struct skua_limit_rates {
    double requests_per_s, burst, octets_per_s;
    unsigned running_max;
} skua_limit_rates;

typedef struct skua_limit_entry {
    uint64_t key;            // a hash; 0: free
    double requests, octets; // taken lately: they fall to 0 again by the rates
    double seen_s;
    unsigned running;
} skua_limit_entry;

typedef struct skua_limit_table {
    skua_limit_entry rows[SKUA_LIMIT_ROWS][SKUA_LIMIT_KEYS + 1]; // the last is shared
    uint64_t seed; // so that nobody outside knows the rows; 0: it is not in use yet
} skua_limit_table;

static inline pthread_mutex_t *skua_limit_lock(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    return &lock;
}

static inline double skua_limit_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline uint64_t skua_limit_hash(const skua_limit_table *t, const char *key, size_t len)
{
    uint64_t hash = t->seed;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ (unsigned char)key[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

static inline void skua_limit_age(skua_limit_entry *e, const skua_limit_rates *r, double now_s)
{
    double passed = now_s - e->seen_s;
    e->requests -= passed * r->requests_per_s;
    e->octets -= passed * r->octets_per_s;
    if (e->requests < 0) e->requests = 0;
    if (e->octets < 0) e->octets = 0;
    e->seen_s = now_s;
}

// For how many seconds a key is blocked; 0: it is not.
static inline double skua_limit_blocked(const skua_limit_entry *e, const skua_limit_rates *r)
{
    double wait = 0;
    if (r->requests_per_s > 0 && e->requests + 1 > r->burst)
        wait = (e->requests + 1 - r->burst) / r->requests_per_s;
    if (r->octets_per_s > 0 && e->octets > r->octets_per_s &&
        (e->octets - r->octets_per_s) / r->octets_per_s > wait)
        wait = (e->octets - r->octets_per_s) / r->octets_per_s;
    return r->running_max && e->running >= r->running_max && wait < 1 ? 1 : wait;
}

// The entry of a key, or that which it takes over. Entries of the row have been aged.
static inline skua_limit_entry *skua_limit_find(skua_limit_entry *row, const skua_limit_rates *r,
                                                uint64_t key)
{
    skua_limit_entry *best = NULL;
    for (int i = 0; i < SKUA_LIMIT_KEYS; i++) {
        skua_limit_entry *e = &row[i];
        if (e->key == key) return e;
        if (e->running || skua_limit_blocked(e, r) > 0) continue;
        if (!best || e->requests + e->octets / 1024 < best->requests + best->octets / 1024)
            best = e;
    }
    if (!best) return &row[SKUA_LIMIT_KEYS];
    memset(best, 0, sizeof *best);
    best->key = key;
    best->seen_s = row[SKUA_LIMIT_KEYS].seen_s;
    return best;
}

// Takes a request of a key. Returns: 0, and *entry, to be given back; or the seconds it is blocked for.
static inline double skua_limit_take(skua_limit_table *t, const skua_limit_rates *r,
                                     const char *key, size_t len, skua_limit_entry **entry)
{
    (void)pthread_mutex_lock(skua_limit_lock());
    double now_s = skua_limit_now();
    if (t->seed == 0) t->seed = ((uint64_t)(uintptr_t)t ^ (uint64_t)(now_s * 1e9)) | 1;
    uint64_t hash = skua_limit_hash(t, key, len);
    skua_limit_entry *row = t->rows[hash % SKUA_LIMIT_ROWS];
    for (int i = 0; i <= SKUA_LIMIT_KEYS; i++)
        skua_limit_age(&row[i], r, now_s);
    skua_limit_entry *found = skua_limit_find(row, r, hash);
    double wait_s = skua_limit_blocked(found, r);
    if (wait_s <= 0) {
        found->requests++;
        found->running++;
        *entry = found;
    }
    (void)pthread_mutex_unlock(skua_limit_lock());
    return wait_s;
}

static inline void skua_limit_give(skua_limit_table *t, skua_limit_entry *entry, double octets)
{
    (void)t;
    (void)pthread_mutex_lock(skua_limit_lock());
    entry->octets += octets;
    entry->running--;
    (void)pthread_mutex_unlock(skua_limit_lock());
}

#endif
