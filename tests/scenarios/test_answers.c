// SPDX-License-Identifier: MIT
//
// Scenarios: answers of every kind that are given at once, or by a source.

#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_gets(run *r, const char *const *targets, size_t count)
{
    client *c = client_connect(r);
    for (size_t i = 0; i < count; i++) {
        client_send(c, "GET ");
        client_send(c, targets[i]);
        client_send(c, " HTTP/1.1\r\nHost: a\r\n\r\n");
        client_expect(c);
    }
    client_finish(c);
    client_expect_end(c);
}

static void play_statuses(run *r)
{
    static const char *const targets[] = { "/status/200", "/status/204", "/status/205",
                                           "/status/304", "/status/404", "/error/503" };
    play_gets(r, targets, sizeof targets / sizeof *targets);
}

static void play_shorthands(run *r)
{
    static const char *const targets[] = { "/redirect", "/cookie" };
    play_gets(r, targets, sizeof targets / sizeof *targets);
}

static void play_sources(run *r)
{
    static const char *const targets[] = { "/length/1/0",  "/length/1/1",    "/length/2/300000",
                                           "/lent/3/0",    "/lent/3/200000", "/pull/4/0",
                                           "/pull/4/35000" };
    play_gets(r, targets, sizeof targets / sizeof *targets);
}

static void play_hints(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hints HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_old_source(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /pull/1/25000 HTTP/1.0\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_broken(run *r, const char *request)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_send(c, request);
    client_expect_part(c);
    client_expect_cut(c);
}

static void play_short(run *r)
{
    play_broken(r, "GET /short/1/30000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_fail(run *r)
{
    play_broken(r, "GET /fail/1/30000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_abort_late(run *r)
{
    play_broken(r, "GET /abort/late HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_abort(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /abort HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_cut(c);
}

// The request behind it is not served.
static void play_close(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /close HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_pauses(run *r, const char *request)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, request);
    client_rest(c);
    client_resume(c);
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_paused_source(run *r)
{
    play_pauses(r, "GET /length/2/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_paused_loan(run *r)
{
    play_pauses(r, "GET /lent/2/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
}

// Many answers behind each other, which nobody takes for a while.
static void play_paused_pipeline(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    for (int i = 0; i < 30; i++)
        client_send(c, "GET /length/2/100000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_resume(c);
    for (int i = 0; i < 30; i++)
        client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "statuses", .play = play_statuses },
        { .name = "shorthands", .play = play_shorthands },
        { .name = "sources, lent octets, and a source that waits", .play = play_sources },
        { .name = "an interim response", .play = play_hints },
        { .name = "a source for an old client",
          .play = play_old_source,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "a source that ends short", .play = play_short },
        { .name = "a source that fails", .play = play_fail },
        { .name = "a handler that gives up half-way", .play = play_abort_late },
        { .name = "a handler that gives up", .play = play_abort },
        { .name = "a handler that closes",
          .play = play_close,
          .http1_only = "requests that are under way finish behind GOAWAY" },
        { .name = "a client that pauses before a source",
          .play = play_paused_source,
          .receive_octets = 4096 },
        { .name = "a client that pauses before lent octets",
          .play = play_paused_loan,
          .receive_octets = 4096 },
        { .name = "a client that pauses before a pipeline",
          .play = play_paused_pipeline,
          .receive_octets = 4096 },
    };
    return suite_main("answers", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
