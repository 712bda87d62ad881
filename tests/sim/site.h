// SPDX-License-Identifier: MIT
//
// The application of the tests over the simulated kernel: everything that is left to chance comes
// from the kernel's seed. Middleware passes some requests on at once, some later.
#ifndef TESTS_SIM_SITE_H
#define TESTS_SIM_SITE_H

#include "io/sim.h"
#include "server/change.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "app/app.h"

// Asks for two parts of the file.
extern const char site_parts_line[];

// Whether content is a whole answer to that.
bool site_parts_are_right(slice content);

enum { SITE_WORKERS_MAX = 4 };

typedef struct site {
    app app;
    sim_kernel *kernel;
    skua_server *server;
    skua_root *root;
    int listener;
    unsigned entered, left; // calls of middleware's before, and of its end
    bool stopped, over;
    bool ended[SITE_WORKERS_MAX]; // which of its workers
} site;

// False when memory ran out or the server did not start.
bool site_open(site *s, const skua_config *config, const sim_config *sim, const char *folder);

// One turn, of each worker if there are several, unless the server has ended.
void site_turn(site *s, int64_t timeout_ns);

// Lets another number of workers serve, up to SITE_WORKERS_MAX.
skua_status site_staff(site *s, unsigned workers);

// Does one of the things that handlers have put off, chosen at random; false: there is none.
bool site_act(site *s);

// How many clients have been other workers' than the first one's.
uint64_t site_handed(const site *s);

void site_stop(site *s, int64_t grace_ns);

// Ends the server and the kernel. Returns what was wrong with the run, in words, or NULL.
const char *site_close(site *s);

#endif
