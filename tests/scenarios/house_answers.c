// SPDX-License-Identifier: MIT
//
// The application of the scenarios: routes that answer at once, or with a source.

#include "scenarios/house.h"

#include <stdlib.h>

enum { PULL_STEP_OCTETS = 10000 };

static const int64_t pull_wait_ns = 1000000;

// ---- At once ----

static void tell_slice(text *t, const char *what, skua_slice value)
{
    text_addf(t, "%s: %.*s\n", what, (int)value.len, value.len ? value.ptr : "");
}

static void on_tell(skua_request *request, void *user)
{
    (void)user;
    text t = { .len = 0 };
    skua_field field;
    tell_slice(&t, "method", skua_request_method(request));
    tell_slice(&t, "path", skua_request_path(request));
    tell_slice(&t, "query", skua_request_query(request));
    tell_slice(&t, "authority", skua_request_authority(request));
    text_addf(&t, "version: %d\n", skua_request_version(request));
    for (size_t i = 0; skua_request_query_at(request, i, &field); i++)
        tell_slice(&t, "parameter", field.value);
    for (size_t i = 0; skua_request_field_at(request, i, &field); i++)
        tell_slice(&t, "field", field.value);
    house_must(skua_respond(request, 200, "text/plain", text_slice(&t)));
    text_free(&t);
}

static void on_status(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(skua_respond(request, (int)v->len, "text/plain", SKUA_SLICE("with content")));
}

static void on_error(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_respond_error(request, (int)house_enter(request)->len));
}

static void on_redirect(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_redirect(request, 303, "/else where"));
}

static void on_cookie(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_cookie_set(
        request, &(skua_cookie){ .name = "a", .value = SKUA_SLICE("1"), .http_only = true }));
    house_must(skua_respond_json(request, 200, SKUA_SLICE("{}")));
}

static void on_hints(skua_request *request, void *user)
{
    (void)user;
    skua_field link = { SKUA_SLICE("Link"), SKUA_SLICE("</a.css>; rel=preload") };
    house_must(skua_inform(request, 103, &link, 1));
    house_must(skua_respond_text(request, 200, "hinted"));
}

static void on_close(skua_request *request, void *user)
{
    (void)user;
    skua_request_close(request);
    house_must(skua_respond_text(request, 200, "the last"));
}

static void on_abort(skua_request *request, void *user)
{
    (void)user;
    skua_request_abort(request);
}

// ---- From a source ----

static void pull_woken(skua_worker *worker, void *user)
{
    (void)worker;
    visit *v = user;
    if (v->request) skua_wake(v->request);
}

// Waits once at each step; the trailer comes with the end.
static skua_pulled pull_step(skua_request *request, char *buffer, size_t room, size_t *octets,
                             void *user)
{
    visit *v = user;
    uint64_t left = PULL_STEP_OCTETS - v->at % PULL_STEP_OCTETS;
    if (v->at % PULL_STEP_OCTETS == 0 && !v->waited && v->at < v->len) {
        v->waited = true;
        house_must(
            skua_timer_start(skua_request_worker(request), pull_wait_ns, 0, pull_woken, v, NULL));
        return SKUA_PULL_PENDING;
    }
    v->waited = false;
    *octets = visit_fill(v, buffer, room < left ? room : (size_t)left);
    if (v->at < v->len) return SKUA_PULL_OCTETS;
    house_must(skua_trailer_add(request, "X-Pulled", SKUA_SLICE("all")));
    return SKUA_PULL_END;
}

static void on_pull(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_respond_pull(request, 200, "text/plain", -1, pull_step, house_enter(request)));
}

static skua_pulled pull_at_once(skua_request *request, char *buffer, size_t room, size_t *octets,
                                void *user)
{
    visit *v = user;
    (void)request;
    *octets = visit_fill(v, buffer, room);
    if (v->at < v->len) return SKUA_PULL_OCTETS;
    return v->fails ? SKUA_PULL_ERROR : SKUA_PULL_END;
}

// Gives what it has, and no end.
static skua_pulled pull_for_ever(skua_request *request, char *buffer, size_t room, size_t *octets,
                                 void *user)
{
    visit *v = user;
    (void)request;
    *octets = visit_fill(v, buffer, room);
    return *octets ? SKUA_PULL_OCTETS : SKUA_PULL_PENDING;
}

static void on_pull_open(skua_request *request, void *user)
{
    (void)user;
    house_must(
        skua_respond_pull(request, 200, "text/plain", -1, pull_for_ever, house_enter(request)));
}

static void on_length(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(skua_respond_pull(request, 200, "text/plain", (int64_t)v->len, pull_at_once, v));
}

static void on_short(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(
        skua_respond_pull(request, 200, "text/plain", (int64_t)v->len + 10, pull_at_once, v));
}

static void on_fail(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    v->fails = true;
    house_must(skua_respond_pull(request, 200, "text/plain", -1, pull_at_once, v));
}

// ---- Lent ----

typedef struct loan {
    run *run;
    char *octets;
} loan;

static void lent_back(void *user)
{
    loan *l = user;
    l->run->released++;
    free(l->octets);
    free(l);
}

static void on_lent(skua_request *request, void *user)
{
    visit *v = house_enter(request);
    loan *l = calloc(1, sizeof *l);
    size_t len = (size_t)v->len;
    if (!l) abort();
    *l = (loan){ .run = user, .octets = malloc(len + 1) };
    if (!l->octets) abort();
    (void)visit_fill(v, l->octets, len);
    l->run->lent++;
    house_must(skua_respond_borrowed(request, 200, "text/plain", (skua_slice){ l->octets, len },
                                     lent_back, l));
}

void house_add_answers(run *r, skua_server *server)
{
    static const house_route routes[] = {
        { "GET /tell", on_tell },
        { "GET /status/{len}", on_status },
        { "GET /error/{len}", on_error },
        { "GET /redirect", on_redirect },
        { "GET /cookie", on_cookie },
        { "GET /hints", on_hints },
        { "GET /close", on_close },
        { "GET /abort", on_abort },
        { "GET /pull/{tag}/{len}", on_pull },
        { "GET /pull/open/{tag}/{len}", on_pull_open },
        { "GET /length/{tag}/{len}", on_length },
        { "GET /short/{tag}/{len}", on_short },
        { "GET /fail/{tag}/{len}", on_fail },
        { "GET /lent/{tag}/{len}", on_lent },
    };
    house_add(r, server, routes, sizeof routes / sizeof *routes);
}
