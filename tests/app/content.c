// SPDX-License-Identifier: MIT
//
// The application of the tests: routes that read content.

#include "app/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPOOL_MEMORY_OCTETS = 1000 };

// Content in the story, once it is complete: its pieces depend on how it came.
static void note_content(visit *v, const char *what, skua_slice octets)
{
    visit_note(v, "%s", what);
    if (octets.len && v->app->manner->note_content) v->app->manner->note_content(v, octets);
}

static void note_trailer(visit *v, const skua_request *request)
{
    skua_slice trailer = skua_request_trailer(request, "X-Sum");
    if (trailer.ptr) visit_note(v, "trailer %.*s", (int)trailer.len, trailer.ptr);
}

// A reader is told of the end once.
static void visit_complete(visit *v, const skua_request *request)
{
    if (v->complete || v->request != request) abort();
    v->complete = true;
}

// ---- Collected ----

static void echo_collected(skua_request *request, skua_status status, skua_slice content,
                           void *user)
{
    visit *v = user;
    visit_complete(v, request);
    note_content(v, skua_status_text(status), content);
    note_trailer(v, request);
    if (status == SKUA_OK) visit_answer(v, 200, content);
}

// A file is read here, since the kernel may fail what is sent from one.
static void echo_spooled(skua_request *request, skua_status status, const skua_upload *upload,
                         void *user)
{
    visit *v = user;
    visit_complete(v, request);
    if ((status == SKUA_OK) != (upload != NULL)) abort();
    if (status) return;
    if (!upload->file) {
        visit_answer(v, 200, upload->octets);
        return;
    }
    size_t len = (size_t)upload->length, n;
    char *octets = app_alloc(len);
    if (skua_file_read(upload->file, 0, octets, len, &n) || n != len) abort();
    visit_answer(v, 200, (skua_slice){ octets, n });
    free(octets);
}

// Kept in one way or another, the answer is the same.
static void on_echo(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    if (!visit_tosses(v, 2)) {
        (void)app_must(user, skua_content_collect(request, 0, echo_collected, v));
        return;
    }
    size_t memory_max = 1 + (size_t)visit_chance(v, 20000);
    if (!app_must(user, skua_content_spool(request, memory_max, 0, echo_spooled, v)))
        (void)app_must(user, skua_respond_error(request, 503));
}

static void spooled(skua_request *request, skua_status status, const skua_upload *upload,
                    void *user)
{
    visit *v = user;
    visit_complete(v, request);
    visit_note(v, "spooled: %s", skua_status_text(status));
    if (status) return;
    visit_note(v, "%llu octets in %s", (unsigned long long)upload->length,
               upload->file ? "a file" : "memory");
    if (!upload->file) visit_answer(v, 200, upload->octets);
    else
        (void)app_must(
            v->app, skua_respond_file(request, 200, "text/plain", upload->file, 0, upload->length));
}

static void on_spool(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    if (!app_must(user, skua_content_spool(request, SPOOL_MEMORY_OCTETS, 0, spooled, v)))
        (void)app_must(user, skua_respond_error(request, 503));
}

static void form_read(skua_request *request, skua_status status, const skua_form_part *parts,
                      size_t count, void *user)
{
    visit *v = user;
    visit_complete(v, request);
    visit_note(v, "form: %s, %zu parts", skua_status_text(status), count);
    for (size_t i = 0; i < count; i++) {
        skua_slice name = parts[i].part.name;
        visit_note(v, "part %.*s, %llu octets in %s", (int)name.len, name.ptr,
                   (unsigned long long)parts[i].upload.length,
                   parts[i].upload.file ? "a file" : "memory");
    }
    if (status == SKUA_OK) visit_answer_text(v, "a form");
}

static void on_form(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    if (skua_multipart_collect(request, SPOOL_MEMORY_OCTETS, 0, form_read, v))
        (void)app_must(user, skua_respond_error(request, 415));
}

// ---- Piece by piece ----

static void count_answer(visit *v)
{
    char words[64];
    note_trailer(v, v->request);
    note_content(v, "content", text_slice(&v->content));
    if (v->sums) app_sum_text(words, v->octets, v->sum);
    else (void)snprintf(words, sizeof words, "%llu octets", (unsigned long long)v->octets);
    visit_answer(v, 200, (skua_slice){ words, strlen(words) });
}

static void count_octets(visit *v, skua_slice octets)
{
    if (v->app->manner->labour) v->app->manner->labour(false);
    if (v->app->keeps_stories) text_add(&v->content, octets);
    for (size_t i = 0; v->sums && i < octets.len; i++)
        v->sum = app_sum(v->sum, octets.ptr[i]);
    v->octets += octets.len;
}

static void count_end(visit *v, const skua_request *request, skua_content_event event)
{
    visit_complete(v, request);
    if (event == SKUA_CONTENT_END) count_answer(v);
    else visit_note(v, "content is lost");
}

static void count_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    visit *v = user;
    if (event != SKUA_CONTENT_DATA) {
        count_end(v, request, event);
        return;
    }
    count_octets(v, octets);
    skua_content_consume(request, octets.len);
}

static void on_count(skua_request *request, void *user)
{
    (void)app_must(user, skua_content_read(request, count_content, visit_of(user, request)));
}

static void on_at_most(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    if (skua_content_limit(request, v->len)) visit_note(v, "refused at once");
    else (void)app_must(user, skua_content_read(request, count_content, v));
}

// ---- With credit now and then ----

void visit_give_credit(visit *v)
{
    size_t octets = v->unconsumed;
    if (octets && v->app->manner->chance && !visit_tosses(v, 2))
        octets = 1 + (size_t)visit_chance(v, octets);
    v->unconsumed -= octets;
    if (v->unconsumed) visit_put_off(v, VISIT_WAITS_CREDIT);
    if (octets) skua_content_consume(v->request, octets);
}

// More than a window must not come before it is given back.
static void count_slowly(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    if (event != SKUA_CONTENT_DATA) {
        count_end(v, request, event);
        return;
    }
    count_octets(v, octets);
    v->unconsumed += octets.len;
    if (v->app->window_octets && v->unconsumed > v->app->window_octets)
        visit_note(v, "more than the window came");
    visit_put_off(v, VISIT_WAITS_CREDIT);
}

static void on_count_slowly(skua_request *request, void *user)
{
    (void)app_must(user, skua_content_read(request, count_slowly, visit_of(user, request)));
}

static void on_sum(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    v->sums = true;
    (void)app_must(user, skua_content_read(request, count_slowly, v));
}

void app_add_content(app *a)
{
    static const app_route routes[] = {
        { "POST /echo", on_echo },
        { "POST /spool", on_spool },
        { "POST /form", on_form },
        { "POST /count", on_count },
        { "POST /count/slowly", on_count_slowly },
        { "POST /sum", on_sum },
        { "POST /at-most/{len}", on_at_most },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
}
