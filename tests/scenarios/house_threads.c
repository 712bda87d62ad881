// SPDX-License-Identifier: MIT
//
// The application of the scenarios: requests that other threads answer.

#include "scenarios/house.h"

#include <pthread.h>
#include <stdlib.h>

// ---- A thread of the application's ----

// Joined by nobody: the run ends only when outside says that there is none.
static void thread_begin(visit *v, void *(*body)(void *))
{
    pthread_t thread;
    atomic_fetch_add(&v->run->outside, 1);
    if (pthread_create(&thread, NULL, body, v) || pthread_detach(thread)) abort();
}

static void ticket_taken_up(skua_request *request, void *user)
{
    visit *v = user;
    visit_note(v, request ? "is taken up" : "is gone");
    if (request) house_must(skua_respond_text(request, 200, "by a ticket"));
}

static void *ticket_thread(void *user)
{
    visit *v = user;
    atomic_uint *outside = &v->run->outside;
    house_must(skua_resume(v->ticket, ticket_taken_up, v));
    atomic_fetch_sub(outside, 1);
    return NULL;
}

static void on_ticket(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_visit(request);
    house_must(skua_ticket_take(request, &v->ticket));
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
    atomic_uint *outside = &v->run->outside;
    house_must(skua_post(v->run->host.server, 0, posted, v));
    atomic_fetch_sub(outside, 1);
    return NULL;
}

static void on_posted(skua_request *request, void *user)
{
    (void)user;
    thread_begin(house_visit(request), post_thread);
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
    for (visit *v = r->visits; v; v = v->next) {
        if (v->ticket.value && !v->waited) {
            v->waited = true;
            visit_note(v, "resume: %s", skua_status_text(skua_resume(v->ticket, ticket_late, v)));
        }
    }
}

static void on_ticket_held(skua_request *request, void *user)
{
    run *r = user;
    visit *v = house_visit(request);
    house_must(skua_ticket_take(request, &v->ticket));
    r->held = v;
}

// ---- Threads of the server's ----

static void offloaded_work(void *user)
{
    visit *v = user;
    v->complete = true;
}

static void offloaded_done(skua_worker *worker, void *user)
{
    (void)worker;
    visit *v = user;
    visit_note(v, v->complete ? "the work is done" : "the work is not done");
    if (v->request) house_must(skua_respond_text(v->request, 200, "by a helper"));
}

static void on_offloaded(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_offload(skua_request_worker(request), offloaded_work, offloaded_done,
                            house_visit(request)));
}

static void offloaded_hold(skua_worker *worker, void *user)
{
    (void)worker;
    visit *v = user;
    visit_note(v, "the work is done");
    if (v->request) house_must(skua_ticket_take(v->request, &v->ticket));
}

static void on_offloaded_held(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_offload(skua_request_worker(request), offloaded_work, offloaded_hold,
                            house_visit(request)));
}

static void on_blocking(const skua_request *request, skua_slice content, skua_reply *reply,
                        void *user)
{
    (void)user;
    if (skua_request_method(request).len != 4) abort();
    house_must(skua_reply_field(reply, "X-Blocking", SKUA_SLICE("yes")));
    house_must(skua_reply_give(reply, 200, "text/plain", content));
}

static void on_blocking_silent(const skua_request *request, skua_slice content, skua_reply *reply,
                               void *user)
{
    (void)request;
    (void)content;
    (void)reply;
    (void)user;
}

void house_add_threads(run *r, skua_server *server)
{
    static const house_route routes[] = {
        { "GET /ticket", on_ticket },
        { "GET /ticket/held", on_ticket_held },
        { "GET /posted", on_posted },
        { "GET /offloaded", on_offloaded },
        { "GET /offloaded/held", on_offloaded_held },
    };
    house_add(r, server, routes, sizeof routes / sizeof *routes);
    house_must(skua_route_blocking(server, "POST /blocking", on_blocking, r));
    house_must(skua_route_blocking(server, "POST /blocking/silent", on_blocking_silent, r));
}
