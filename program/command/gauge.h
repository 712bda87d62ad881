// SPDX-License-Identifier: MIT
//
// Gauge: a server of one worker in this process, which measures the worker's CPU time.
#ifndef PROGRAM_COMMAND_GAUGE_H
#define PROGRAM_COMMAND_GAUGE_H

#include <skua/skua.h>

#include <pthread.h>

typedef struct gauge {
    skua_server *server;
    unsigned port;
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool waiting;   // for the worker to tell
    int64_t cpu_ns; // what it told
} gauge;

typedef enum gauge_outcome {
    GAUGE_OPEN,
    GAUGE_REFUSED, // this kernel has no such backend, or forbids it
    GAUGE_UNKNOWN, // the backend is none of this platform's
    GAUGE_FAILED   // what is wrong has been said
} gauge_outcome;

// Starts it on 127.0.0.1, at a port that the kernel chooses. It answers /hello by 13 octets, and
// serves dir below /memory/, from memory, and below /sendfile/, by sendfile. To be closed when it
// is GAUGE_OPEN.
gauge_outcome gauge_open(gauge *g, const char *backend, const char *dir);

// The CPU time of its worker until now: user and kernel, once everything before has been done. -1
// on an error.
int64_t gauge_cpu_ns(gauge *g);

void gauge_close(gauge *g);

#endif
