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

static void play_paused(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "GET /length/1/8000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_ends(r);
    client_resume(c);
    client_expect_part(c);
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
          .waits = true,
          .config = { .head_timeout_ns = DEADLINE_NS } },
        { .name = "of a head behind a request",
          .play = play_second_head,
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
        { .name = "of an event stream",
          .play = play_events,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
        { .name = "of a tunnel",
          .play = play_tunnel,
          .waits = true,
          .config = { .stream_idle_timeout_ns = DEADLINE_NS } },
    };
    return suite_main("deadlines", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
