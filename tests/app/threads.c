// SPDX-License-Identifier: MIT
//
// The application of the tests: requests that other threads answer.

#include "app/app.h"

#include <stdlib.h>

static void on_post(skua_worker *worker, void *user)
{
    app *a = user;
    if (skua_worker_index(worker) != 0) abort();
    a->ran++;
}

static void on_ticket(skua_request *request, void *user)
{
    app *a = user;
    visit *v = visit_of(a, request);
    a->posted++;
    if (skua_post(a->server, 0, on_post, a)) a->posted--;
    bool taken = app_must(a, skua_ticket_take(request, &v->ticket));
    visit_put_off(v, taken ? VISIT_WAITS_RESUME : VISIT_WAITS_ANSWER);
}

static void offloaded_work(void *user)
{
    visit *v = user;
    v->complete = true;
}

static void offloaded_done(skua_worker *worker, void *user)
{
    visit *v = user;
    (void)worker;
    visit_note(v, v->complete ? "the work is done" : "the work is not done");
    if (v->request) visit_answer_text(v, "by a helper");
    visit_let_go(v);
}

static void offloaded_hold(skua_worker *worker, void *user)
{
    visit *v = user;
    (void)worker;
    visit_note(v, "the work is done");
    if (v->request) (void)app_must(v->app, skua_ticket_take(v->request, &v->ticket));
    visit_let_go(v);
}

static void offload(visit *v, void (*done)(skua_worker *worker, void *user))
{
    visit_keep(v);
    skua_worker *worker = skua_request_worker(v->request);
    skua_status status = skua_offload(worker, offloaded_work, done, v);
    if (status == SKUA_OK) return;
    if (status != SKUA_ELIMIT) (void)app_must(v->app, status); // too much is queued
    (void)app_must(v->app, skua_respond_error(v->request, 503));
    visit_let_go(v);
}

static void on_offloaded(skua_request *request, void *user)
{
    offload(visit_of(user, request), offloaded_done);
}

static void on_offloaded_held(skua_request *request, void *user)
{
    offload(visit_of(user, request), offloaded_hold);
}

static void on_blocking(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    const app *a = user;
    if (skua_request_method(request).len != 4) abort();
    if (a->manner->labour) a->manner->labour(true);
    if (!app_must(a, skua_field_add(request, "X-Blocking", SKUA_SLICE("yes")))) return;
    (void)app_must(a, skua_respond(request, 200, "text/plain", content));
}

static void on_blocking_silent(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

void app_add_threads(app *a)
{
    static const app_route routes[] = {
        { "GET /ticket", on_ticket },
        { "GET /ticket/{tag}/{len}", on_ticket },
        { "GET /offloaded", on_offloaded },
        { "GET /offloaded/held", on_offloaded_held },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
    (void)app_must(a, skua_route_blocking(a->server, "POST /blocking", on_blocking, a));
    (void)app_must(a,
                   skua_route_blocking(a->server, "POST /blocking/silent", on_blocking_silent, a));
}
