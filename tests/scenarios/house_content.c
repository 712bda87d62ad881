// SPDX-License-Identifier: MIT
//
// The application of the scenarios: routes that read content.

#include "scenarios/house.h"

#include "scenarios/transcript.h"

static const int64_t credit_every_ns = 1000000;

// Content in the story, once it is complete: its pieces depend on how it came.
static void note_content(visit *v, const char *what, slice octets)
{
    visit_note(v, "%s", what);
    if (octets.len) transcript_octets(&v->story, "    | ", octets);
}

// ---- Collected ----

static void echo_collected(skua_request *request, skua_status status, skua_slice content,
                           void *user)
{
    visit *v = user;
    note_content(v, skua_status_text(status), content);
    skua_slice trailer = skua_request_trailer(request, "X-Sum");
    if (trailer.ptr) visit_note(v, "trailer %.*s", (int)trailer.len, trailer.ptr);
    if (status == SKUA_OK) house_must(skua_respond(request, 200, "text/plain", content));
}

static void on_echo(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_content_collect(request, 0, echo_collected, house_visit(request)));
}

static void spooled(skua_request *request, skua_status status, const skua_upload *upload,
                    void *user)
{
    visit *v = user;
    visit_note(v, "spooled: %s", skua_status_text(status));
    if (status) return;
    visit_note(v, "%llu octets in %s", (unsigned long long)upload->length,
               upload->file ? "a file" : "memory");
    if (upload->file)
        house_must(skua_respond_file(request, 200, "text/plain", upload->file, 0, upload->length));
    else house_must(skua_respond(request, 200, "text/plain", upload->octets));
}

static void on_spool(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_content_spool(request, 1000, 0, spooled, house_visit(request)));
}

static void form_read(skua_request *request, skua_status status, const skua_form_part *parts,
                      size_t count, void *user)
{
    visit *v = user;
    visit_note(v, "form: %s, %zu parts", skua_status_text(status), count);
    for (size_t i = 0; i < count; i++) {
        skua_slice name = parts[i].part.name;
        visit_note(v, "part %.*s, %llu octets in %s", (int)name.len, name.ptr,
                   (unsigned long long)parts[i].upload.length,
                   parts[i].upload.file ? "a file" : "memory");
    }
    if (status == SKUA_OK) house_must(skua_respond_text(request, 200, "a form"));
}

static void on_form(skua_request *request, void *user)
{
    (void)user;
    if (skua_multipart_collect(request, 1000, 0, form_read, house_visit(request)))
        house_must(skua_respond_error(request, 415));
}

// ---- Piece by piece ----

static void count_answer(visit *v)
{
    char words[64];
    skua_slice trailer = skua_request_trailer(v->request, "X-Sum");
    if (trailer.ptr) visit_note(v, "trailer %.*s", (int)trailer.len, trailer.ptr);
    note_content(v, "content", text_slice(&v->content));
    int len = snprintf(words, sizeof words, "%zu octets", v->content.len);
    house_must(skua_respond(v->request, 200, "text/plain", (skua_slice){ words, (size_t)len }));
}

static void count_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    visit *v = user;
    switch (event) {
    case SKUA_CONTENT_DATA:
        text_add(&v->content, octets);
        skua_content_consume(request, octets.len);
        return;
    case SKUA_CONTENT_END: count_answer(v); return;
    case SKUA_CONTENT_LOST: visit_note(v, "content is lost"); return;
    }
}

static void on_count(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_content_read(request, count_content, house_visit(request)));
}

static void on_at_most(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    if (skua_content_limit(request, v->len)) visit_note(v, "refused at once");
    else house_must(skua_content_read(request, count_content, v));
}

// ---- With credit now and then ----

static void credit_given(skua_worker *worker, void *user);

static void credit_later(visit *v)
{
    skua_worker *worker = skua_request_worker(v->request);
    house_must(skua_timer_start(worker, credit_every_ns, 0, credit_given, v, NULL));
}

static void credit_given(skua_worker *worker, void *user)
{
    (void)worker;
    visit *v = user;
    v->waited = false;
    size_t octets = v->unconsumed;
    v->unconsumed = 0;
    if (v->request && octets) skua_content_consume(v->request, octets);
}

// More than a window must not come before it is given back.
static void count_slowly(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    if (event != SKUA_CONTENT_DATA) {
        count_content(request, event, octets, user);
        return;
    }
    text_add(&v->content, octets);
    v->unconsumed += octets.len;
    if (v->unconsumed > HOUSE_WINDOW_OCTETS) visit_note(v, "more than the window came");
    if (!v->waited) credit_later(v);
    v->waited = true;
}

static void on_count_slowly(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_content_read(request, count_slowly, house_visit(request)));
}

// ---- Not at all ----

static void on_refuse(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(skua_respond_error(request, (int)v->len));
}

void house_add_content(run *r, skua_server *server)
{
    static const house_route routes[] = {
        { "POST /echo", on_echo },
        { "POST /spool", on_spool },
        { "POST /form", on_form },
        { "POST /count", on_count },
        { "POST /count/slowly", on_count_slowly },
        { "POST /at-most/{len}", on_at_most },
        { "POST /refuse/{len}", on_refuse },
    };
    house_add(r, server, routes, sizeof routes / sizeof *routes);
}
