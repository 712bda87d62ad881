// SPDX-License-Identifier: MIT
//
// Scenarios: requests, one after the other, several at once, and those that break off.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_one(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a.example\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_kept_alive(run *r)
{
    client *c = client_connect(r);
    for (int i = 0; i < 3; i++) {
        client_send(c, "GET /hello HTTP/1.1\r\nHost: a.example\r\n\r\n");
        client_expect(c);
        client_rest(c);
    }
    client_finish(c);
    client_expect_end(c);
}

static void play_pipelined(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
                   "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                   "GET /missing HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /pull/1/500 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 5; i++)
        client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_unwatched(run *r)
{
    client *c = client_connect(r);
    for (int i = 0; i < 10; i++)
        client_send(c,
                    "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /only HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 20; i++)
        client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_tell(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET http://b.example:81/a/../tell?x=1&y=%41+b HTTP/1.1\r\n"
                   "Host: a.example\r\nX-Field:   spaced \r\n\r\n");
    client_expect(c);
    client_send(c, "\r\n\r\nGET /%74ell HTTP/1.1\r\nHost: a.example\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_head(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\nHEAD /pull/1/5000 HTTP/1.1\r\nHost: a\r\n\r\n"
           "HEAD /missing HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 3; i++)
        client_expect_to_head(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_old(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.0\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_old_kept_alive(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_expect(c);
    client_send(c, "GET /pull/2/400 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_options(run *r)
{
    client *c = client_connect(r);
    client_send(c, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_send(c, "OPTIONS /only HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_asked_to_close(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_half_closed_pipeline(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /length/3/70000 HTTP/1.1\r\nHost: a\r\n\r\n"
           "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_finish(c);
    for (int i = 0; i < 3; i++)
        client_expect(c);
    client_expect_end(c);
}

static void play_cut_off_in_head(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_send(c, "GET /hello HTTP/1.1\r\nHo");
    client_finish(c);
    client_expect_end(c);
}

static void play_cut_off_in_content(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
    client_finish(c);
    client_expect_end(c);
}

static void play_three_clients(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client *b = client_connect(r);
    client_send(b, "GET /hold HTTP/1.1\r\nHost: b\r\n\r\n");
    house_await_held(r);
    client *c = client_connect(r);
    client_send(c, "POST /echo HTTP/1.1\r\nHost: c\r\nContent-Length: 6\r\n\r\nabc");
    client_rest(c);
    client_send(a, "GET /stream/4/9000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(a);
    client_send(c, "def");
    client_expect(c);
    house_release(r);
    client_expect(b);
    client_finish(a);
    client_finish(b);
    client_finish(c);
    client_expect_end(a);
    client_expect_end(b);
    client_expect_end(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "one request", .play = play_one },
        { .name = "a connection kept alive", .play = play_kept_alive },
        { .name = "requests in a pipeline", .play = play_pipelined },
        { .name = "a pipeline that nobody watches", .play = play_unwatched, .unwatched = true },
        { .name = "what is told of a request",
          .play = play_tell,
          .http1_only = "the version is told, and the target has another form" },
        { .name = "HEAD", .play = play_head },
        { .name = "HTTP/1.0", .play = play_old, .http1_only = "it is about HTTP/1.0" },
        { .name = "HTTP/1.0 kept alive, until a length is not known",
          .play = play_old_kept_alive,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "OPTIONS", .play = play_options },
        { .name = "a client that asks for the close", .play = play_asked_to_close },
        { .name = "a client that sends no more behind a pipeline",
          .play = play_half_closed_pipeline,
          .wide = true },
        { .name = "a head that breaks off", .play = play_cut_off_in_head },
        { .name = "content that breaks off", .play = play_cut_off_in_content },
        { .name = "three clients", .play = play_three_clients },
    };
    return suite_main("requests", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
