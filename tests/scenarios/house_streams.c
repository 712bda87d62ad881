// SPDX-License-Identifier: MIT
//
// The application of the scenarios: answers that are written piece by piece, both ways at once, and
// tunnels.

#include "scenarios/house.h"

#include <stdlib.h>

enum { STREAM_PIECE_OCTETS = 3000 };

static const int64_t event_wait_ns = 1000000;
static const int64_t event_tick_ns = 100000000;

// ---- Written as there is room ----

static void stream_go(visit *v)
{
    char piece[STREAM_PIECE_OCTETS];
    while (v->at < v->len) {
        uint64_t before = v->at;
        size_t n = visit_fill(v, piece, sizeof piece);
        skua_status status = skua_write(v->request, (skua_slice){ piece, n });
        if (status == SKUA_OK) continue;
        v->at = before; // all or nothing
        if (status != SKUA_ELIMIT) house_must(status);
        return;
    }
    house_must(skua_trailer_add(v->request, "X-Written", SKUA_SLICE("all")));
    house_must(skua_finish(v->request));
}

static void stream_drained(skua_request *request, void *user)
{
    (void)request;
    stream_go(user);
}

static void on_stream(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(skua_respond_stream(request, 200, "text/plain", -1, stream_drained, v));
    stream_go(v);
}

// Writes all at once, and no end.
static void on_stream_open(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_enter(request);
    house_must(skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL));
    while (v->at < v->len) {
        char piece[STREAM_PIECE_OCTETS];
        size_t n = visit_fill(v, piece, sizeof piece);
        house_must(skua_write(request, (skua_slice){ piece, n }));
    }
}

static void on_abort_late(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_respond_stream(request, 200, "text/plain", 100, NULL, NULL));
    house_must(skua_write(request, SKUA_SLICE("the first half")));
    skua_request_abort(request);
}

// ---- What comes is sent back ----

static void back_go(visit *v)
{
    size_t n = v->content.len - (size_t)v->at;
    uint64_t room = skua_write_room(v->request);
    if (n > room) n = (size_t)room;
    if (n) {
        house_must(skua_write(v->request, (skua_slice){ v->content.octets + v->at, n }));
        v->at += n;
        skua_content_consume(v->request, n);
    }
    if (v->complete && v->at == v->content.len) {
        visit_note(v, "all has come and gone: %zu octets", v->content.len);
        house_must(skua_finish(v->request));
        v->complete = false;
    }
}

static void back_drained(skua_request *request, void *user)
{
    (void)request;
    back_go(user);
}

static void back_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    (void)request;
    switch (event) {
    case SKUA_CONTENT_DATA: text_add(&v->content, octets); break;
    case SKUA_CONTENT_END: v->complete = true; break;
    case SKUA_CONTENT_LOST: visit_note(v, "content is lost"); return;
    }
    back_go(v);
}

static void on_duplex(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_visit(request);
    house_must(skua_respond_stream(request, 200, "text/plain", -1, back_drained, v));
    house_must(skua_content_read(request, back_content, v));
}

static void on_tunnel(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_visit(request);
    skua_status status = skua_upgrade(request, "echo", back_drained, v);
    visit_note(v, "upgrade: %s", skua_status_text(status));
    if (status) house_must(skua_respond_error(request, 426));
    else house_must(skua_content_read(request, back_content, v));
}

// Gives back none of the content, as much as a window holds.
static void kept_content(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    v->unconsumed += octets.len;
    if (event != SKUA_CONTENT_END) return;
    visit_note(v, "keeps %zu octets", v->unconsumed);
    on_tunnel(request, NULL);
}

static void on_tunnel_kept(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_content_read(request, kept_content, house_visit(request)));
}

// Says something, and closes its half first.
static void on_tunnel_first(skua_request *request, void *user)
{
    (void)user;
    visit *v = house_visit(request);
    house_must(skua_upgrade(request, "echo", NULL, NULL));
    house_must(skua_write(request, SKUA_SLICE("farewell")));
    house_must(skua_finish(request));
    visit_note(v, "closes its half");
}

// ---- Events ----

static void events_more(skua_worker *worker, void *user)
{
    (void)worker;
    visit *v = user;
    if (!v->request) return;
    house_must(skua_event_send(v->request, &(skua_event){ .data = SKUA_SLICE("later") }));
    house_must(skua_finish(v->request));
}

static void on_events(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_events_open(request, NULL, NULL));
    house_must(skua_event_send(request,
                               &(skua_event){ .data = SKUA_SLICE("one"), .id = SKUA_SLICE("7") }));
    house_must(
        skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("quiet"), .comment = true }));
    house_must(skua_event_send(
        request, &(skua_event){ .data = SKUA_SLICE("two\nlines"), .name = SKUA_SLICE("tick") }));
    house_must(skua_timer_start(skua_request_worker(request), event_wait_ns, 0, events_more,
                                house_visit(request), NULL));
}

static void on_events_open(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_events_open(request, NULL, NULL));
    house_must(skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("the only one") }));
}

static void events_tick(skua_worker *worker, void *user)
{
    visit *v = user;
    if (!v->request) return;
    bool comment = v->at++ % 2;
    house_must(skua_event_send(v->request,
                               &(skua_event){ .data = SKUA_SLICE("tick"), .comment = comment }));
    if (v->at == v->len) house_must(skua_finish(v->request));
    else house_must(skua_timer_start(worker, event_tick_ns, 0, events_tick, v, NULL));
}

static void on_events_ticking(skua_request *request, void *user)
{
    (void)user;
    house_must(skua_events_open(request, NULL, NULL));
    house_must(skua_timer_start(skua_request_worker(request), event_tick_ns, 0, events_tick,
                                house_enter(request), NULL));
}

void house_add_streams(run *r, skua_server *server)
{
    static const house_route routes[] = {
        { "GET /stream/{tag}/{len}", on_stream },
        { "GET /stream/open/{tag}/{len}", on_stream_open },
        { "GET /abort/late", on_abort_late },
        { "POST /duplex", on_duplex },
        { "GET /tunnel", on_tunnel },
        { "GET /tunnel/first", on_tunnel_first },
        { "POST /tunnel/kept", on_tunnel_kept },
        { "GET /events", on_events },
        { "GET /events/open", on_events_open },
        { "GET /events/ticking/{len}", on_events_ticking },
    };
    house_add(r, server, routes, sizeof routes / sizeof *routes);
}
