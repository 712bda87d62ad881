// SPDX-License-Identifier: MIT
//
// The application of the tests: its visits.

#include "app/app.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char app_key; // of a request's visit

void *app_alloc(size_t octets)
{
    void *memory = NULL;
    for (int i = 0; i < 1000 && !memory; i++)
        memory = calloc(1, octets);
    if (!memory) abort();
    return memory;
}

bool app_must(const app *a, skua_status status)
{
    if (status == SKUA_OK) return true;
    if (a->lenient && (status == SKUA_ECLOSED || status == SKUA_ENOMEM)) return false;
    (void)fprintf(stderr, "the application: assertion: unexpected status: %s\n",
                  skua_status_text(status));
    abort();
}

// ---- Life ----

void app_init(app *a, const app_manner *manner, skua_server *server)
{
    a->manner = manner;
    a->server = server;
    a->visits = NULL;
    a->visits_tail = &a->visits;
}

static void visit_free(visit *v)
{
    free(v->story.octets);
    free(v->content.octets);
    free(v);
}

static const char *app_balance(app *a)
{
    if (a->begun != a->ended) return "requests began that did not end";
    if (a->lent != a->released) return "lent octets were not released";
    if (a->granted != a->resumed) return "a resumption was lost, or came twice";
    if (a->posted != a->ran) return "a posted function was lost, or ran twice";
    return NULL;
}

const char *app_free(app *a)
{
    while (a->visits) {
        visit *v = a->visits;
        a->visits = v->next;
        visit_free(v);
    }
    a->visits_tail = &a->visits;
    return app_balance(a);
}

void app_add(app *a, const app_route *routes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)app_must(a, skua_route(a->server, routes[i].pattern, routes[i].handler, a));
}

// ---- The beginning and the end of a visit ----

static void visit_forget(visit *v)
{
    if (v->app->forgets && v->told && v->kept == 0) visit_free(v);
}

void visit_keep(visit *v)
{
    v->kept++;
}

void visit_let_go(visit *v)
{
    if (v->kept == 0) abort();
    v->kept--;
    visit_forget(v);
}

void visit_end(visit *v)
{
    if (!v->request) return;
    v->request = NULL;
    v->app->ended++;
    if (v->wait != VISIT_WAITS_RESUME) v->wait = VISIT_WAITS_NOT;
}

static void visit_ended(skua_request *request, skua_end how, void *user)
{
    visit *v = user;
    if (v->told || (v->request && v->request != request)) abort(); // a second time, or another's
    v->told = true;
    v->how = how;
    visit_end(v);
    visit_forget(v);
}

visit *visit_begin(app *a, skua_request *request)
{
    visit *v = app_alloc(sizeof *v);
    v->app = a;
    v->request = request;
    a->begun++;
    if (!a->forgets) {
        *a->visits_tail = v;
        a->visits_tail = &v->next;
    }
    skua_on_end(request, visit_ended, v);
    return v;
}

void visit_attach(visit *v)
{
    (void)app_must(v->app, skua_request_set(v->request, &app_key, v));
}

visit *visit_attached(skua_request *request)
{
    return skua_request_get(request, &app_key);
}

static uint64_t visit_number(const visit *v, const char *name)
{
    skua_slice digits = skua_request_param(v->request, name);
    uint64_t n = 0, most = v->app->len_max;
    for (size_t i = 0; i < digits.len && i < 9; i++)
        n = n * 10 + (unsigned)(digits.ptr[i] - '0') % 10;
    return most && n > most ? most : n;
}

visit *visit_of(app *a, skua_request *request)
{
    visit *v = visit_attached(request);
    if (!v) v = visit_begin(a, request);
    v->tag = visit_number(v, "tag");
    v->len = visit_number(v, "len");
    return v;
}

void visit_note(visit *v, const char *format, ...)
{
    char line[512];
    va_list arguments;
    if (!v || !v->app->keeps_stories) return;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_addf(&v->story, "  %s\n", line);
}

// ---- Chance, and what is put off ----

uint64_t visit_chance(const visit *v, uint64_t n)
{
    return v->app->manner->chance(v->app, n);
}

bool visit_tosses(const visit *v, unsigned n)
{
    return v->app->manner->chance && visit_chance(v, n) == 0;
}

void visit_put_off(visit *v, visit_wait wait)
{
    if (v->wait == wait) return;
    if (v->wait != VISIT_WAITS_NOT) abort();
    v->wait = wait;
    visit_keep(v);
    if (wait == VISIT_WAITS_RESUME) v->app->manner->hand_over(v);
    else v->app->manner->put_off(v);
}

static void visit_act(visit *v, visit_wait wait)
{
    switch (wait) {
    case VISIT_WAITS_ANSWER: visit_answer_pattern(v); return;
    case VISIT_WAITS_WAKE: skua_wake(v->request); return;
    case VISIT_WAITS_CREDIT: visit_give_credit(v); return;
    case VISIT_WAITS_PUSH: visit_push(v); return;
    case VISIT_WAITS_EVENT: visit_send_event(v, false); return;
    case VISIT_WAITS_TICK: visit_send_event(v, true); return;
    case VISIT_WAITS_RESUME:
    case VISIT_WAITS_NOT: return;
    }
}

void visit_go_on(visit *v)
{
    visit_wait wait = v->wait;
    v->wait = VISIT_WAITS_NOT;
    if (v->request) visit_act(v, wait);
    visit_let_go(v);
}

// request: NULL when it has ended, or is about to.
void visit_taken_up(skua_request *request, void *user)
{
    visit *v = user;
    if (request && v->request != request) abort();
    v->wait = VISIT_WAITS_NOT;
    v->app->resumed++;
    visit_note(v, request ? "is taken up" : "is gone");
    if (request && skua_request_param(request, "len").ptr) visit_answer_pattern(v);
    else if (request) visit_answer_text(v, "by a ticket");
    visit_let_go(v);
}

// ---- Answers ----

size_t visit_fill(visit *v, char *buffer, size_t room)
{
    size_t n = v->len - v->at < room ? (size_t)(v->len - v->at) : room;
    for (size_t i = 0; i < n; i++)
        buffer[i] = app_octet(v->tag, v->at + i);
    v->at += n;
    return n;
}

// An answer that fails leaves the request to die with its connection, which the balance shows.
void visit_answer(visit *v, int status, skua_slice content)
{
    (void)app_must(v->app, skua_respond(v->request, status, "text/plain", content));
}

void visit_answer_text(visit *v, const char *sentence)
{
    (void)app_must(v->app, skua_respond_text(v->request, 200, sentence));
}

void visit_answer_pattern(visit *v)
{
    size_t len = (size_t)v->len;
    char *octets = app_alloc(len + 1);
    (void)visit_fill(v, octets, len);
    visit_answer(v, 200, (skua_slice){ octets, len });
    free(octets);
}

void app_sum_text(char *words, uint64_t octets, uint64_t sum)
{
    (void)snprintf(words, 64, "%llu octets, sum %llu", (unsigned long long)octets,
                   (unsigned long long)sum);
}
