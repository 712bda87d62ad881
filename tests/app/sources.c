// SPDX-License-Identifier: MIT
//
// The application of the tests: answers from a source, and answers that come to no good end.

#include "app/app.h"

#include <stdlib.h>

// ---- Pulled ----

// Waits once at each step, or by chance.
static bool pull_waits(visit *v)
{
    if (v->app->manner->chance) return visit_tosses(v, 6);
    bool at_step = v->steps && v->at % v->app->step_octets == 0;
    v->waited = at_step && !v->waited && v->at < v->len;
    return v->waited;
}

static size_t pull_some(visit *v, char *buffer, size_t room)
{
    uint64_t step = v->app->step_octets - v->at % v->app->step_octets;
    if (room > step) room = (size_t)step;
    if (room > 1 && visit_tosses(v, 3)) room = 1 + (size_t)visit_chance(v, room);
    return visit_fill(v, buffer, room);
}

static skua_pulled pull_end(visit *v)
{
    if (v->fails) return SKUA_PULL_ERROR;
    if (!v->adds_trailer) return SKUA_PULL_END;
    bool added = app_must(v->app, skua_trailer_add(v->request, "X-Pulled", SKUA_SLICE("all")));
    return added ? SKUA_PULL_END : SKUA_PULL_ERROR;
}

static skua_pulled pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                        void *user)
{
    visit *v = user;
    if (v->request != request || room == 0) abort();
    if (pull_waits(v)) {
        if (visit_tosses(v, 2)) skua_wake(request); // from within: it counts
        else visit_put_off(v, VISIT_WAITS_WAKE);
        return SKUA_PULL_PENDING;
    }
    *octets = pull_some(v, buffer, room);
    if (v->at < v->len || (*octets && visit_tosses(v, 2))) return SKUA_PULL_OCTETS;
    return pull_end(v);
}

static void respond_pull(visit *v, int64_t length)
{
    (void)app_must(v->app, skua_respond_pull(v->request, 200, "text/plain", length, pull, v));
}

static void on_pull(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    v->steps = v->adds_trailer = true;
    respond_pull(v, -1);
}

static void on_length(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    respond_pull(v, (int64_t)v->len);
}

// ---- Lent ----

typedef struct loan {
    app *app;
    char *octets;
} loan;

static void lent_back(void *user)
{
    loan *l = user;
    l->app->released++;
    free(l->octets);
    free(l);
}

static void on_lent(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    loan *l = app_alloc(sizeof *l);
    size_t len = (size_t)v->len;
    *l = (loan){ .app = user, .octets = app_alloc(len + 1) };
    (void)visit_fill(v, l->octets, len);
    v->app->lent++;
    skua_slice octets = { l->octets, len };
    (void)app_must(user, skua_respond_borrowed(request, 200, "text/plain", octets, lent_back, l));
}

void app_add_sources(app *a)
{
    static const app_route routes[] = {
        { "GET /pull/{tag}/{len}", on_pull },
        { "GET /length/{tag}/{len}", on_length },
        { "GET /lent/{tag}/{len}", on_lent },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
}

// ---- No good end ----

// Gives what it has, and no end.
static skua_pulled pull_for_ever(skua_request *request, char *buffer, size_t room, size_t *octets,
                                 void *user)
{
    (void)request;
    *octets = visit_fill(user, buffer, room);
    return *octets ? SKUA_PULL_OCTETS : SKUA_PULL_PENDING;
}

static void on_pull_open(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    (void)app_must(user, skua_respond_pull(request, 200, "text/plain", -1, pull_for_ever, v));
}

static void on_short(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    respond_pull(v, (int64_t)v->len + 10);
}

static void on_fail(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    v->fails = true;
    respond_pull(v, visit_tosses(v, 2) ? (int64_t)v->len + 5 : -1);
}

// Writes all at once, and no end.
static void on_stream_open(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    char piece[APP_PIECE_OCTETS_MAX];
    (void)app_must(user, skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL));
    while (v->at < v->len) {
        size_t n = visit_fill(v, piece, v->app->piece_octets);
        (void)app_must(user, skua_write(request, (skua_slice){ piece, n }));
    }
}

static void on_events_open(skua_request *request, void *user)
{
    const skua_event event = { .data = SKUA_SLICE("the only one") };
    (void)app_must(user, skua_events_open(request, NULL, NULL));
    (void)app_must(user, skua_event_send(request, &event));
}

static void on_abort(skua_request *request, void *user)
{
    (void)user;
    skua_request_abort(request);
}

static void on_abort_late(skua_request *request, void *user)
{
    (void)app_must(user, skua_respond_stream(request, 200, "text/plain", 100, NULL, NULL));
    (void)app_must(user, skua_write(request, SKUA_SLICE("the first half")));
    skua_request_abort(request);
}

// Only its client's leaving ends it.
static void on_never(skua_request *request, void *user)
{
    skua_ticket ticket;
    (void)app_must(user, skua_ticket_take(request, &ticket));
}

void app_add_unfinished(app *a)
{
    static const app_route routes[] = {
        { "GET /pull/open/{tag}/{len}", on_pull_open },
        { "GET /stream/open/{tag}/{len}", on_stream_open },
        { "GET /events/open", on_events_open },
        { "GET /short/{tag}/{len}", on_short },
        { "GET /fail/{tag}/{len}", on_fail },
        { "GET /abort", on_abort },
        { "GET /abort/late", on_abort_late },
        { "GET /never", on_never },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
}
