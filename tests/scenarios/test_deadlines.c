// SPDX-License-Identifier: MIT
//
// Scenarios: deadlines, shortened. Time passes only while a client waits.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

enum { DEADLINE_NS = 600000000 };

static void play_head(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHo");
    client_expect(c);
    client_expect_end(c);
}

static void play_second_head(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nG");
    client_expect(c);
    client_expect(c);
    client_expect_end(c);
}

static void play_keep_alive(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

// No 408: a browser's spare connection has not asked for anything.
static void play_silence(run *r)
{
    client *c = client_connect(r);
    client_expect_end(c);
}

static void play_content(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    client_expect_cut(c);
}

// A reset may take what has not been read, and so the head is read before.
static void play_paused(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /length/1/8000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_head(c);
    client_pause(c);
    house_await_ends(r);
    client_resume(c);
    client_expect_cut(c);
}

static void play_handler(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

// The route is named in the log before the deadline comes.
static void play_forgotten(run *r)
{
    play_handler(r);
}

static void play_begun(run *r, const char *request)
{
    client *c = client_connect(r);
    client_send(c, request);
    client_expect_part(c);
    client_expect_cut(c);
}

static void play_pending(run *r)
{
    play_begun(r, "GET /pull/open/1/1000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_stream(run *r)
{
    play_begun(r, "GET /stream/open/1/1000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

// Its client sends no more, and is waited for all the same.
static void play_half_closed(run *r)
{
    client *c = client_connect(r);
    client_send_last(c, "GET /stream/open/1/1000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_part(c);
    client_expect_cut(c);
}

// Nothing is sent for longer than the deadline, but each comment and each event renews it.
static void play_ticking(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events/ticking/12 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

// The answer to HEAD has begun, and what is written of it is dropped.
static void play_muted(run *r)
{
    client *c = client_connect(r);
    client_send(c, "HEAD /stream/open/1/1000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_to_head(c);
    client_expect_cut(c);
}

static void play_ticket(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_rest(c);
    house_resume(r);
    client_finish(c);
    client_expect_end(c);
}

static void play_events(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events/open HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_part(c);
    client_expect_cut(c);
}

static void play_tunnel(run *r)
{
    client *c = client_connect(r);
    client_send(c,
                "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    client_expect(c);
    client_send(c, "ping");
    client_expect_octets(c, 4);
    client_expect_cut(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "of a head",
          .play = play_head,
          .http1_only = "a head is one frame here",
          .waits = true,
          .config = { .head_timeout_ns = DEADLINE_NS } },
        { .name = "of a head behind a request",
          .play = play_second_head,
          .http1_only = "a head is one frame here",
          .waits = true,
          .config = { .head_timeout_ns = DEADLINE_NS } },
        { .name = "between requests",
          .play = play_keep_alive,
          .waits = true,
          .config = { .keep_alive_timeout_ns = DEADLINE_NS } },
        { .name = "before the first request",
          .play = play_silence,
          .waits = true,
          .config = { .keep_alive_timeout_ns = DEADLINE_NS, .head_timeout_ns = DEADLINE_NS } },
        { .name = "of content",
          .play = play_content,
          .http1_only = "there the answer is 408",
          .waits = true,
          .config = { .stall_timeout_ns = DEADLINE_NS } },
        { .name = "of a client that takes nothing",
          .play = play_paused,
          .waits = true,
          .receive_octets = 4096,
          .config = { .stall_timeout_ns = DEADLINE_NS } },
        { .name = "of a handler",
          .play = play_handler,
          .waits = true,
          .config = { .handler_timeout_ns = DEADLINE_NS } },
        { .name = "of a handler with a ticket",
          .play = play_ticket,
          .waits = true,
          .config = { .handler_timeout_ns = DEADLINE_NS } },
        { .name = "of a handler that has forgotten its request",
          .play = play_forgotten,
          .waits = true,
          .config = { .unanswered_log_ns = DEADLINE_NS, .handler_timeout_ns = 2 * DEADLINE_NS } },
        { .name = "of a handler that is waited for",
          .play = play_ticket,
          .waits = true,
          .config = { .unanswered_log_ns = DEADLINE_NS, .handler_timeout_ns = 2 * DEADLINE_NS } },
        { .name = "of a source that is pending",
          .play = play_pending,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "of a source that is pending, the handler's",
          .play = play_pending,
          .waits = true,
          .config = { .handler_timeout_ns = DEADLINE_NS } },
        { .name = "of a stream that is not finished",
          .play = play_stream,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "of a stream that is not finished, the handler's",
          .play = play_stream,
          .waits = true,
          .config = { .handler_timeout_ns = DEADLINE_NS } },
        { .name = "of a stream whose client sends no more",
          .play = play_half_closed,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS, .half_close = true } },
        { .name = "of a stream for HEAD that is not finished",
          .play = play_muted,
          .http1_only = "its stream has ended",
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "renewed by comments and events",
          .play = play_ticking,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "of events, the handler's",
          .play = play_events,
          .waits = true,
          .config = { .handler_timeout_ns = DEADLINE_NS } },
        { .name = "of an event stream",
          .play = play_events,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "of a tunnel",
          .play = play_tunnel,
          .http1_only = "Upgrade is",
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
    };
    return suite_main("deadlines", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
