// SPDX-License-Identifier: MIT
//
// The application of the tests as the scenarios run it: requests that threads answer.

#include "scenarios/house.h"

#include <pthread.h>
#include <stdlib.h>

// ---- A thread of the application's ----

// Joined by nobody: the run ends only when outside says that there is none.
static void thread_begin(visit *v, void *(*body)(void *))
{
    pthread_t thread;
    atomic_fetch_add(&house_run(v)->outside, 1);
    if (pthread_create(&thread, NULL, body, v) || pthread_detach(thread)) abort();
}

static void *ticket_thread(void *user)
{
    visit *v = user;
    atomic_uint *outside = &house_run(v)->outside;
    v->app->granted++;
    house_must(skua_resume(v->ticket, visit_taken_up, v));
    atomic_fetch_sub(outside, 1);
    return NULL;
}

void house_hand_over(visit *v)
{
    thread_begin(v, ticket_thread);
}

static void posted(skua_worker *worker, void *user)
{
    visit *v = user;
    visit_note(v, "posted to worker %u", skua_worker_index(worker));
    if (v->request) house_must(skua_respond_text(v->request, 200, "by post"));
}

static void *post_thread(void *user)
{
    visit *v = user;
    atomic_uint *outside = &house_run(v)->outside;
    house_must(skua_post(house_run(v)->host.server, 0, posted, v));
    atomic_fetch_sub(outside, 1);
    return NULL;
}

static void on_posted(skua_request *request, void *user)
{
    run *r = user;
    thread_begin(visit_of(&r->app, request), post_thread);
}

// ---- A ticket for the scenario ----

static void ticket_late(skua_request *request, void *user)
{
    visit *v = user;
    visit_note(v, request ? "is taken up" : "is gone");
    if (request) house_must(skua_respond_text(request, 200, "late"));
}

void house_resume(run *r)
{
    for (visit *v = r->app.visits; v; v = v->next) {
        if (v->ticket.value && !v->waited) {
            v->waited = true;
            visit_note(v, "resume: %s", skua_status_text(skua_resume(v->ticket, ticket_late, v)));
        }
    }
}

static void on_ticket_held(skua_request *request, void *user)
{
    run *r = user;
    visit *v = visit_of(&r->app, request);
    house_must(skua_ticket_take(request, &v->ticket));
    r->held = v;
}

void house_add_threads(run *r)
{
    static const app_route routes[] = { { "GET /ticket/held", on_ticket_held },
                                        { "GET /posted", on_posted } };
    house_add(r, routes, sizeof routes / sizeof *routes);
}
