// SPDX-License-Identifier: MIT
//
// The application of the tests as the scenarios run it: requests that are answered with what somebody else has said.

#include "scenarios/far.h"
#include "scenarios/house.h"
#include "support/asker.h"

#include <stdlib.h>

static const int64_t asking_timeout_ns = 300000000;

static const char *const asking_outcomes[] = {
    [ASKING_GOES_ON] = "goes on",     [ASKING_ANSWERED] = "answered", [ASKING_REFUSED] = "refused",
    [ASKING_TIMED_OUT] = "timed out", [ASKING_ENDED] = "ended",       [ASKING_RESET] = "reset",
    [ASKING_ABORTED] = "aborted",
};

// The request may have ended before, as both ends are aborted when a worker ends.
static void on_outcome(asking *a)
{
    visit *v = a->user;
    if (!v->request) return;
    visit_note(v, "%s: %s", a->connected ? "connected" : "not connected",
               asking_outcomes[a->outcome]);
    if (a->outcome == ASKING_ANSWERED) {
        skua_slice octets = { a->got, a->got_octets };
        house_must(skua_respond(v->request, 200, "text/plain", octets));
        return;
    }
    int status = a->outcome == ASKING_TIMED_OUT ? 504 : 502;
    house_must(skua_respond_text(v->request, status, asking_outcomes[a->outcome]));
}

static void on_asker_gone(skua_request *request, skua_end how, void *user)
{
    visit *v = user;
    (void)request;
    (void)how;
    visit_end(v);
    if (v->asking->outcome == ASKING_GOES_ON) asking_drop(v->asking);
}

static void on_ask(skua_request *request, void *user)
{
    run *r = user;
    visit *v = visit_of(&r->app, request);
    v->asking = calloc(1, sizeof *v->asking);
    if (!v->asking) abort();
    *v->asking = (asking){ .wanted = v->len, .told = on_outcome, .user = v };
    v->asking->got = malloc(v->len);
    if (!v->asking->got) abort();
    r->held = v;
    skua_on_end(request, on_asker_gone, v);
    if (!asking_begin(v->asking, r->host.server->workers[0], &r->far->address,
                      SKUA_SLICE("a question\n"), asking_timeout_ns))
        abort();
}

void house_free_asking(visit *v)
{
    if (!v->asking) return;
    if (!asking_is_over(v->asking)) abort();
    free(v->asking->got);
    free(v->asking);
}

void house_add_asking(run *r)
{
    static const app_route routes[] = { { "GET /ask/{len}", on_ask } };
    house_add(r, routes, sizeof routes / sizeof *routes);
}
