// SPDX-License-Identifier: MIT
//
// One run of a scenario: a server on one backend, its clients, and what each side was told, which
// is kept apart: per client, per request and per log, since the order between those is nobody's
// promise.
#ifndef TESTS_SCENARIOS_RUN_H
#define TESTS_SCENARIOS_RUN_H

#include "scenarios/wire.h"
#include "app/app.h"

typedef struct run run;
typedef struct client client;
typedef struct far far;

// How what clients send is cut up.
typedef enum run_cut {
    RUN_WHOLE,  // not at all
    RUN_OCTETS, // at first each octet for itself
    RUN_RANDOM,
} run_cut;

typedef struct scenario {
    const char *name;
    void (*play)(run *r);
    skua_config config;     // what differs from the default
    bool unwatched;         // no middleware, no hooks, no log: nobody hears of requests
    bool waits;             // for a deadline, which takes its time on a real kernel
    const char *http1_only; // why it is not played over HTTP/2; NULL: it is
    bool wide;          // over HTTP/2: windows are open before FIN, since nothing opens them later
    bool serves_folder; // whose files are to be old enough for strong entity tags
    int receive_octets; // of the clients' receive buffers; 0: what the kernel likes
} scenario;

struct run {
    const scenario *scenario;
    const char *backend;
    const char *folder; // files to serve
    skua_root *root;
    run_cut cut;
    uint64_t random;
    host host;
    client *clients, **clients_tail;
    app app;
    visit *held; // waits for the scenario
    far *far;    // whom the server connects to; NULL: nobody yet
    unsigned client_count, connected, closed;
    atomic_uint outside;   // threads that are about to call back
    text access, messages; // the log writer's, until the server is freed
};

// Plays a scenario. seed: of the cuts, and of the simulated kernel, which is calm when it is 0.
// transcript: is added to. Returns false where the kernel refuses the backend.
bool run_play(const scenario *s, const char *backend, const char *folder, run_cut cut,
              uint64_t seed, text *transcript);

// One round: clients send and receive, the server turns. Returns whether anything happened.
bool run_round(run *r, host_time time);

// Rounds until nothing happens any more but by a deadline.
void run_rest(run *r);

// To be called in each round of a wait: fails the test when it takes too long.
// since_ns: 0 at first.
void run_be_patient(const run *r, int64_t *since_ns, const char *what);

uint64_t run_random(run *r);

#endif
