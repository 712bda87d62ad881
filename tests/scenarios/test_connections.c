// SPDX-License-Identifier: MIT
//
// Scenarios: how connections end, and how a server does.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static const int64_t long_grace_ns = 20000000000;
static const int64_t short_grace_ns = 300000000;

static client *play_held(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    return c;
}

static void play_says_nothing(run *r)
{
    client *c = client_connect(r);
    client_finish(c);
    client_expect_end(c);
}

static void play_reset_held(run *r)
{
    client *c = play_held(r);
    client_reset(c);
    house_await_ends(r);
}

static void play_reset_in_content(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    client_rest(c);
    client_reset(c);
    house_await_ends(r);
}

// Requests behind the one that is held wait; then they are answered together.
static void play_pipelined_behind_held(run *r)
{
    client *c = play_held(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                   "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n");
    client_send_pattern(c, 1, 70000);
    client_rest(c);
    house_release(r);
    client_finish(c);
    for (int i = 0; i < 3; i++)
        client_expect(c);
    client_expect_end(c);
}

// A client that goes on sending behind an answer that ends the connection is heard for a while
// only.
static void play_lingers_no_longer(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /at-most/10 HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    client_expect(c);
    client_send_pattern(c, 1, 50000);
    client_expect_cut(c);
}

static void play_too_many(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client *b = client_connect(r);
    client_send(b, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_cut(b);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client_finish(a);
    client_expect_end(a);
    client_rest(a);
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_stop_held(run *r)
{
    client *c = play_held(r);
    skua_stop(r->host.server, long_grace_ns);
    client_rest(c);
    house_release(r);
    client_expect(c);
    client_expect_end(c);
}

static void play_stop_at_once(run *r)
{
    client *c = play_held(r);
    skua_stop(r->host.server, 0);
    client_expect_cut(c);
}

// Who waits for nothing is not waited for, but for what has been sent already.
static void play_stop_idle(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    skua_stop(r->host.server, long_grace_ns);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
    client_expect_end(a);
}

static void play_stop_waits(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client *b = play_held(r);
    skua_stop(r->host.server, short_grace_ns);
    client_expect_end(a);
    client_expect_cut(b);
}

// Each client is answered once: those that were there before, and one that comes and asks twice.
static void play_drain(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client *b = play_held(r);
    skua_drain(r->host.server);
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client_expect_end(a);
    house_release(r);
    client_expect(b);
    client_expect_end(b);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "a client that says nothing", .play = play_says_nothing },
        { .name = "a reset before the answer", .play = play_reset_held },
        { .name = "a reset in the content", .play = play_reset_in_content },
        { .name = "requests behind one that takes its time", .play = play_pipelined_behind_held },
        { .name = "a client that goes on sending",
          .play = play_lingers_no_longer,
          .config = { .linger_octets_max = 1000 } },
        { .name = "too many connections",
          .play = play_too_many,
          .config = { .connections_max = 1 } },
        { .name = "stopping with a request under way", .play = play_stop_held },
        { .name = "stopping at once", .play = play_stop_at_once },
        { .name = "stopping between requests",
          .play = play_stop_idle,
          .http1_only = "GOAWAY says which requests were not served",
          .waits = true },
        { .name = "draining",
          .play = play_drain,
          .http1_only = "GOAWAY says that a connection is to end" },
        { .name = "stopping until the grace is over", .play = play_stop_waits, .waits = true },
    };
    return suite_main("connections", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
