// SPDX-License-Identifier: MIT
//
// The application of the scenarios: its hooks.

#include "scenarios/house.h"

#include "scenarios/transcript.h"
#include "support/site.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char house_key; // of a request's visit

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

// ---- Visits ----

visit *house_visit(skua_request *request)
{
    return skua_request_get(request, &house_key);
}

void visit_note(visit *v, const char *format, ...)
{
    char line[512];
    va_list arguments;
    if (!v) return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_addf(&v->story, "  %s\n", line);
}

void visit_free(visit *v)
{
    house_free_asking(v);
    text_free(&v->story);
    text_free(&v->content);
    free(v);
}

static visit *visit_new(run *r, skua_request *request)
{
    visit *v = calloc(1, sizeof *v);
    house_connection *c = skua_connection_get(skua_request_connection(request));
    if (!v) abort();
    v->run = r;
    v->request = request;
    v->connection = c->number;
    v->number = ++c->requests;
    *r->visits_tail = v;
    r->visits_tail = &v->next;
    return v;
}

// A handler may have replaced it by its own; that of a folder does.
static void visit_ended(skua_request *request, skua_end how, void *user)
{
    visit *v = user;
    (void)request;
    (void)how;
    if (v->request || v->told) abort(); // before middleware's end, or a second time
    v->told = true;
}

static void hook_before(skua_request *request, void *user)
{
    visit *v = visit_new(user, request);
    skua_slice method = skua_request_method(request), asked = skua_request_target(request);
    visit_note(v, "%.*s %.*s", (int)method.len, method.ptr, asked.len < 80 ? (int)asked.len : 80,
               asked.ptr);
    house_must(skua_request_set(request, &house_key, v));
    skua_on_end(request, visit_ended, v);
    skua_next(request);
}

static void hook_head(skua_request *request, int status, void *user)
{
    (void)user;
    if (status != skua_request_status(request)) abort();
    visit_note(house_visit(request), "answers %d", status);
}

static void hook_end(skua_request *request, skua_end how, void *user)
{
    static const char *const hows[] = { "sent", "closed", "timeout", "error" };
    run *r = user;
    visit *v = house_visit(request);
    if (v->request != request) abort(); // a second time
    v->request = NULL;
    if (r->held == v) r->held = NULL;
    visit_note(v, "ends: %s", hows[how]);
}

// ---- What handlers share ----

static uint64_t param_number(skua_request *request, const char *name)
{
    skua_slice digits = skua_request_param(request, name);
    uint64_t n = 0;
    for (size_t i = 0; i < digits.len && i < 9; i++)
        n = n * 10 + (unsigned)(digits.ptr[i] - '0') % 10;
    return n;
}

visit *house_enter(skua_request *request)
{
    visit *v = house_visit(request);
    v->tag = param_number(request, "tag");
    v->len = param_number(request, "len");
    return v;
}

size_t visit_fill(visit *v, char *buffer, size_t room)
{
    size_t n = v->len - v->at < room ? (size_t)(v->len - v->at) : room;
    for (size_t i = 0; i < n; i++)
        buffer[i] = site_octet(v->tag, v->at + i);
    v->at += n;
    return n;
}

void house_add(run *r, skua_server *server, const house_route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        house_must(skua_route(server, routes[i].pattern, routes[i].handler, r));
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
    for (const visit *v = r->visits; v; v = v->next) {
        if (v->request) return true;
    }
    return !r->visits;
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
    r->held = house_visit(request);
}

static void on_hello(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")));
}

void house_furnish(run *r, skua_server *server)
{
    static const house_route routes[] = { { "/hello", on_hello },
                                          { "GET /hold", on_hold },
                                          { "POST /hold/content", on_hold },
                                          { "GET /only", on_hello } };
    const skua_middleware hooks = { hook_before, hook_head, hook_end, r };
    if (!r->scenario->unwatched) house_must(skua_use(server, "/", &hooks));
    house_add(r, server, routes, sizeof routes / sizeof *routes);
    house_add_content(r, server);
    house_add_answers(r, server);
    house_add_streams(r, server);
    house_add_threads(r, server);
    house_add_files(r, server);
    house_add_asking(r, server);
}
