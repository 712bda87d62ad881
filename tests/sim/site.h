// SPDX-License-Identifier: MIT
//
// The application of the tests over the simulated kernel: everything that is left to chance comes
// from the kernel's seed. Middleware passes some requests on at once, some later.
#ifndef TESTS_SIM_SITE_H
#define TESTS_SIM_SITE_H

#include "io/sim.h"
#include "server/start.h"
#include "server/worker_run.h"
#include "app/app.h"

// Asks for two parts of the file.
extern const char site_parts_line[];

// Whether content is a whole answer to that.
bool site_parts_are_right(slice content);

typedef struct site {
    app app;
    sim_kernel *kernel;
    skua_server *server;
    skua_root *root;
    int listener;
    unsigned entered, left; // calls of middleware's before, and of its end
    bool stopped, over;
} site;

// False when memory ran out or the server did not start.
bool site_open(site *s, const skua_config *config, const sim_config *sim, const char *folder);

// One turn, unless the server has ended.
void site_turn(site *s, int64_t timeout_ns);

// Does one of the things that handlers have put off, chosen at random; false: there is none.
bool site_act(site *s);

void site_stop(site *s, int64_t grace_ns);

// Ends the server and the kernel. Returns what was wrong with the run, in words, or NULL.
const char *site_close(site *s);

#endif
