// SPDX-License-Identifier: MIT
//
// The application of the tests as the scenarios run it: its hooks, and requests that are held.

#include "scenarios/house.h"

#include "scenarios/transcript.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    HOUSE_STEP_OCTETS = 10000,
    HOUSE_PIECE_OCTETS = 3000,
    HOUSE_WINDOW_OCTETS = 65536 + IO_RECV_OCTETS
};

static const int64_t house_wait_ns = 1000000;
static const int64_t house_tick_ns = 100000000;

void house_must(skua_status status)
{
    if (status == SKUA_OK) return;
    fprintf(stderr, "the application: %s\n", skua_status_text(status));
    abort();
}

// ---- Connections ----

bool house_take_connection(skua_connection *connection, void *user)
{
    run *r = user;
    house_connection *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->number = ++r->connected;
    skua_connection_set(connection, c);
    return true;
}

void house_drop_connection(skua_connection *connection, void *user)
{
    run *r = user;
    free(skua_connection_get(connection));
    r->closed++;
}

// ---- Hooks ----

static void hook_before(skua_request *request, void *user)
{
    run *r = user;
    visit *v = visit_begin(&r->app, request);
    house_connection *c = skua_connection_get(skua_request_connection(request));
    v->connection = c->number;
    v->number = ++c->requests;
    skua_slice method = skua_request_method(request), asked = skua_request_target(request);
    visit_note(v, "%.*s %.*s", (int)method.len, method.ptr, asked.len < 80 ? (int)asked.len : 80,
               asked.ptr);
    visit_attach(v);
    skua_next(request);
}

static void hook_head(skua_request *request, int status, void *user)
{
    (void)user;
    if (status != skua_request_status(request)) abort();
    visit_note(visit_attached(request), "answers %d", status);
}

static void hook_end(skua_request *request, skua_end how, void *user)
{
    static const char *const hows[] = { "sent", "closed", "timeout", "error" };
    run *r = user;
    visit *v = visit_attached(request);
    if (v->request != request || v->told) abort(); // a second time
    visit_end(v);
    if (r->held == v) r->held = NULL;
    visit_note(v, "ends: %s", hows[how]);
}

// ---- The manner ----

static void house_timer(skua_worker *worker, void *user)
{
    (void)worker;
    visit_go_on(user);
}

static void house_put_off(visit *v)
{
    int64_t ns = v->wait == VISIT_WAITS_TICK ? house_tick_ns : house_wait_ns;
    house_must(skua_timer_start(skua_request_worker(v->request), ns, 0, house_timer, v, NULL));
}

static void house_note_content(visit *v, skua_slice content)
{
    transcript_octets(&v->story, "    | ", content);
}

static const app_manner house_manner = { .put_off = house_put_off,
                                         .hand_over = house_hand_over,
                                         .note_content = house_note_content };

void house_add(run *r, const app_route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        house_must(skua_route(r->app.server, routes[i].pattern, routes[i].handler, r));
}

// ---- Held requests ----

void house_release(run *r)
{
    visit *v = r->held;
    if (!v) abort();
    r->held = NULL;
    visit_note(v, skua_request_peer_is_done(v->request) ? "is taken up, its client sends no more"
                                                        : "is taken up");
    house_must(skua_respond_text(v->request, 200, "Held"));
}

void house_await_held(run *r)
{
    int64_t since = 0;
    while (!r->held) {
        (void)run_round(r, HOST_TIME_STANDS);
        run_be_patient(r, &since, "waiting for /hold");
    }
    run_rest(r);
}

// It may be on its way for a while: small pieces that nobody reads are acknowledged late.
void house_await_done(run *r)
{
    int64_t since = 0;
    while (!skua_request_peer_is_done(r->held->request)) {
        (void)run_round(r, HOST_TIME_STANDS);
        run_be_patient(r, &since, "waiting for FIN");
    }
}

// Or will have.
static bool house_has_visitors(const run *r)
{
    for (const visit *v = r->app.visits; v; v = v->next) {
        if (v->request) return true;
    }
    return !r->app.visits;
}

void house_await_ends(run *r)
{
    int64_t since = 0;
    for (bool busy = true; house_has_visitors(r);) {
        busy = run_round(r, busy ? HOST_TIME_STANDS : HOST_TIME_PASSES);
        run_be_patient(r, &since, "waiting for the requests' ends");
    }
}

static void on_hold(skua_request *request, void *user)
{
    run *r = user;
    r->held = visit_of(&r->app, request);
}

void house_furnish(run *r, skua_server *server)
{
    static const app_route routes[] = { { "GET /hold", on_hold },
                                        { "POST /hold/content", on_hold } };
    const skua_middleware hooks = { hook_before, hook_head, hook_end, r };
    r->app = (app){ .user = r,
                    .root = r->root,
                    .folder = r->folder,
                    .keeps_stories = true,
                    .step_octets = HOUSE_STEP_OCTETS,
                    .piece_octets = HOUSE_PIECE_OCTETS,
                    .window_octets = HOUSE_WINDOW_OCTETS };
    app_init(&r->app, &house_manner, server);
    if (!r->scenario->unwatched) house_must(skua_use(server, "/", &hooks));
    app_add_answers(&r->app);
    app_add_content(&r->app);
    app_add_sources(&r->app);
    app_add_streams(&r->app);
    app_add_unfinished(&r->app);
    app_add_threads(&r->app);
    app_add_files(&r->app);
    house_add(r, routes, sizeof routes / sizeof *routes);
    house_add_threads(r);
    house_add_asking(r);
}
