// SPDX-License-Identifier: MIT
//
// Start barrier: threads that have been started report whether they can serve, and wait for the
// decision of one thread, which waits for all reports.
#ifndef SKUA_THREAD_START_BARRIER_H
#define SKUA_THREAD_START_BARRIER_H

#include <skua/skua.h>

#include <pthread.h>

typedef enum start_barrier_order {
    START_BARRIER_WAIT,
    START_BARRIER_SERVE,
    START_BARRIER_END,   // without having served
    START_BARRIER_LEAVE, // at once: another thread will serve
} start_barrier_order;

typedef struct start_barrier {
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned reported, inside;
        skua_status status; // the first that is bad
        start_barrier_order order;
    } shared;
} start_barrier;

void start_barrier_init(start_barrier *b);
void start_barrier_deinit(start_barrier *b);

// Says how the calling thread stands, and waits for the order.
start_barrier_order start_barrier_report(start_barrier *b, skua_status status);

// Waits until so many have reported. Returns the first status that is bad, or SKUA_OK.
skua_status start_barrier_hear(start_barrier *b, unsigned threads);

// Tells all who have reported or will; until start_barrier_again.
void start_barrier_tell(start_barrier *b, start_barrier_order order);

// Begins anew. All who wait must have been told.
void start_barrier_again(start_barrier *b);

#endif
