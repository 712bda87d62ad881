// SPDX-License-Identifier: MIT
//
// Muster: threads that have been started say whether they can serve, and wait to be told what to
// do; one thread hears them all before it tells them.
#ifndef SKUA_SERVER_MUSTER_H
#define SKUA_SERVER_MUSTER_H

#include <skua/skua.h>

#include <pthread.h>

typedef enum muster_order {
    MUSTER_WAIT,
    MUSTER_SERVE,
    MUSTER_END,   // without having served
    MUSTER_LEAVE, // at once: somebody else will serve
} muster_order;

typedef struct muster {
    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned reported;
        skua_status status; // the first that is bad
        muster_order order;
    } shared;
} muster;

void muster_init(muster *m);
void muster_deinit(muster *m);

// Says how the calling thread stands, and waits for the order.
muster_order muster_report(muster *m, skua_status status);

// Waits until so many have reported. Returns the first status that is bad, or SKUA_OK.
skua_status muster_hear(muster *m, unsigned threads);

// Tells all who have reported or will; until muster_again.
void muster_tell(muster *m, muster_order order);

// Begins anew. Nobody may be waiting.
void muster_again(muster *m);

#endif
