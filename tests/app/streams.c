// SPDX-License-Identifier: MIT
//
// The application of the tests: answers that are written piece by piece, both ways at once, tunnels
// and events.

#include "app/app.h"

#include <stdlib.h>

// ---- Written as there is room ----

static uint64_t push_left(const visit *v)
{
    return (v->echoes ? v->content.len : v->len) - v->at;
}

static size_t push_length(const visit *v)
{
    uint64_t left = push_left(v), most = v->app->piece_octets;
    if (left > most) left = most;
    if (v->app->manner->chance) left = 1 + visit_chance(v, left);
    return (size_t)left;
}

static skua_slice push_piece(visit *v, char *buffer, size_t n)
{
    if (v->echoes) return (skua_slice){ v->content.octets + v->at, n };
    uint64_t at = v->at;
    (void)visit_fill(v, buffer, n);
    v->at = at; // until it is taken
    return (skua_slice){ buffer, n };
}

// It is taken whole or not at all. Credit for what is sent back is given when it is.
static void push_taken(visit *v, size_t n)
{
    v->at += n;
    if (!v->echoes) return;
    skua_content_consume(v->request, n);
    if (push_left(v)) return;
    v->at = v->content.len = 0;
}

// Returns whether more may follow now.
static bool push_once(visit *v)
{
    char buffer[APP_PIECE_OCTETS_MAX];
    size_t n = push_length(v);
    uint64_t room = skua_write_room(v->request);
    skua_status status = skua_write(v->request, push_piece(v, buffer, n));
    if (status == SKUA_ELIMIT) { // drained will be called
        if (n <= room) abort();
        return false;
    }
    if (!app_must(v->app, status)) {
        if (status == SKUA_ENOMEM) visit_put_off(v, VISIT_WAITS_PUSH);
        return false;
    }
    if (n > room) abort();
    push_taken(v, n);
    return true;
}

static void push_end(visit *v)
{
    v->begun = false;
    if (v->echoes)
        visit_note(v, "all has come and gone: %llu octets", (unsigned long long)v->octets);
    if (v->adds_trailer) {
        skua_status added = skua_trailer_add(v->request, "X-Written", SKUA_SLICE("all"));
        if (!app_must(v->app, added)) {
            skua_request_abort(v->request);
            return;
        }
    }
    (void)app_must(v->app, skua_finish(v->request));
}

void visit_push(visit *v)
{
    if (v->pushing) abort(); // drained is never called from within
    if (!v->begun || !v->request) return;
    v->pushing = true;
    bool goes_on = true;
    while (goes_on && push_left(v)) {
        goes_on = !visit_tosses(v, 8);
        if (!goes_on) visit_put_off(v, VISIT_WAITS_PUSH);
        else goes_on = push_once(v);
    }
    if (push_left(v) == 0 && (!v->echoes || v->complete)) push_end(v);
    v->pushing = false;
}

static void push_drained(skua_request *request, void *user)
{
    visit *v = user;
    if (v->request != request) abort();
    visit_push(v);
}

static bool stream_begin(visit *v, int64_t length)
{
    v->begun = app_must(
        v->app, skua_respond_stream(v->request, 200, "text/plain", length, push_drained, v));
    return v->begun;
}

static void on_stream(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    bool known = visit_tosses(v, 2);
    v->adds_trailer = !known;
    if (stream_begin(v, known ? (int64_t)v->len : -1)) visit_push(v);
}

// ---- What comes is sent back ----

static void back_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    if (v->complete || v->request != request) abort();
    switch (event) {
    case SKUA_CONTENT_DATA:
        text_add(&v->content, octets);
        v->octets += octets.len;
        break;
    case SKUA_CONTENT_END: v->complete = true; break;
    case SKUA_CONTENT_LOST: visit_note(v, "content is lost"); return;
    }
    visit_push(v);
}

static void back_read(visit *v)
{
    v->echoes = true;
    (void)app_must(v->app, skua_content_read(v->request, back_content, v));
}

// Reading begins before the answer, or behind its head.
static void on_duplex(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    bool reads_first = visit_tosses(v, 2);
    if (reads_first) back_read(v);
    if (!stream_begin(v, -1)) return;
    if (!reads_first) back_read(v);
    visit_push(v);
}

static void tunnel_begin(visit *v)
{
    skua_status status = skua_upgrade(v->request, "echo", push_drained, v);
    visit_note(v, "upgrade: %s", skua_status_text(status));
    v->begun = status == SKUA_OK;
    if (v->begun) back_read(v);
    else if (status == SKUA_EPROTOCOL) (void)app_must(v->app, skua_respond_error(v->request, 426));
    else (void)app_must(v->app, status);
}

static void on_tunnel(skua_request *request, void *user)
{
    tunnel_begin(visit_of(user, request));
}

// Gives back none of the content, as much as a window holds.
static void kept_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    (void)request;
    v->unconsumed += octets.len;
    if (event != SKUA_CONTENT_END) return;
    visit_note(v, "keeps %zu octets", v->unconsumed);
    tunnel_begin(v);
}

static void on_tunnel_kept(skua_request *request, void *user)
{
    (void)app_must(user, skua_content_read(request, kept_content, visit_of(user, request)));
}

// Says something, and closes its half first.
static void on_tunnel_first(skua_request *request, void *user)
{
    (void)app_must(user, skua_upgrade(request, "echo", NULL, NULL));
    (void)app_must(user, skua_write(request, SKUA_SLICE("farewell")));
    (void)app_must(user, skua_finish(request));
    visit_note(visit_attached(request), "closes its half");
}

// ---- Events ----

static void event_send(const visit *v, const skua_event *event)
{
    skua_status status = skua_event_send(v->request, event);
    if (status != SKUA_ELIMIT || !v->app->lenient) (void)app_must(v->app, status);
}

void visit_send_event(visit *v, bool ticks)
{
    skua_slice data = ticks ? SKUA_SLICE("tick") : SKUA_SLICE("later");
    event_send(v, &(skua_event){ .data = data, .comment = ticks && v->at++ % 2 });
    if (ticks && v->at < v->len) visit_put_off(v, VISIT_WAITS_TICK);
    else (void)app_must(v->app, skua_finish(v->request));
}

static void on_events(skua_request *request, void *user)
{
    const skua_event events[] = {
        { .data = SKUA_SLICE("one"), .id = SKUA_SLICE("7") },
        { .data = SKUA_SLICE("quiet"), .comment = true },
        { .data = SKUA_SLICE("two\nlines"), .name = SKUA_SLICE("tick") },
    };
    visit *v = visit_of(user, request);
    if (!app_must(user, skua_events_open(request, NULL, NULL))) return;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        event_send(v, &events[i]);
    visit_put_off(v, VISIT_WAITS_EVENT);
}

static void on_events_ticking(skua_request *request, void *user)
{
    visit *v = visit_of(user, request);
    if (app_must(user, skua_events_open(request, NULL, NULL))) visit_put_off(v, VISIT_WAITS_TICK);
}

void app_add_streams(app *a)
{
    static const app_route routes[] = {
        { "GET /stream/{tag}/{len}", on_stream },
        { "POST /duplex", on_duplex },
        { "GET /tunnel", on_tunnel },
        { "GET /tunnel/first", on_tunnel_first },
        { "POST /tunnel/kept", on_tunnel_kept },
        { "GET /events", on_events },
        { "GET /events/ticking/{len}", on_events_ticking },
    };
    app_add(a, routes, sizeof routes / sizeof *routes);
}
