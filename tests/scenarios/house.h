// SPDX-License-Identifier: MIT
//
// The application of the tests as the scenarios run it: nothing is left to chance, timers and
// threads go on with what is put off, and hooks write down what it is told of each request. These
// routes are the scenarios' own:
//
//     GET /hold          is answered when the scenario says so;  POST /hold/content the same
//     GET /posted        is answered by a thread's post
//     GET /ticket/held   is resumed when the scenario says so
//     GET /ask/{len}     asks the far end, and answers with the so many octets it gets
#ifndef TESTS_SCENARIOS_HOUSE_H
#define TESTS_SCENARIOS_HOUSE_H

#include "scenarios/run.h"

// The scenario's connections, in order of acceptance.
typedef struct house_connection {
    unsigned number, requests;
} house_connection;

bool house_take_connection(skua_connection *connection, void *user);
void house_drop_connection(skua_connection *connection, void *user);

// Adds the routes, and the hooks unless the scenario is unwatched.
void house_furnish(run *r, skua_server *server);

// Stops the process unless it is OK.
void house_must(skua_status status);

// Routes that need the run, which is their user.
void house_add(run *r, const app_route *routes, size_t count);
void house_add_threads(run *r);
void house_add_asking(run *r);

static inline run *house_run(const visit *v)
{
    return v->app->user;
}

// Begins a thread of the scenario's that resumes the visit's ticket.
void house_hand_over(visit *v);

// Frees what a visit of /ask has left.
void house_free_asking(visit *v);

// Resumes the tickets of /ticket/held.
void house_resume(run *r);

// Answers /hold.
void house_release(run *r);
// Waits until a request was heard of, and every such one has ended.
void house_await_ends(run *r);
// Waits for a request of /hold or /ticket/held, and so for everything before it.
void house_await_held(run *r);
// Waits until the client of that request is known to send no more.
void house_await_done(run *r);

#endif
