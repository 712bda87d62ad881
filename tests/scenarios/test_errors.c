// SPDX-License-Identifier: MIT
//
// Scenarios: what is refused, and what becomes of the connection then.

#include "scenarios/script.h"
#include "scenarios/suite.h"

// One that is refused with the connection.
static void play_refused(run *r, const char *octets)
{
    client *c = client_connect(r);
    client_send(c, octets);
    client_expect(c);
    client_expect_end(c);
}

// One that is refused while the connection goes on.
static void play_answered(run *r, const char *octets)
{
    client *c = client_connect(r);
    client_send(c, octets);
    client_expect(c);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_no_host(run *r)
{
    play_refused(r, "GET /hello HTTP/1.1\r\n\r\n");
}

static void play_bare_lf(run *r)
{
    play_refused(r, "GET /hello HTTP/1.1\nHost: a\r\n\r\n");
}

static void play_two_framings(run *r)
{
    play_refused(r, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

static void play_broken_chunk(run *r)
{
    play_refused(
        r,
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n");
}

static void play_missing(run *r)
{
    play_answered(r, "GET /missing HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_other_method(run *r)
{
    play_answered(r, "DELETE /only HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_connect(run *r)
{
    play_answered(r, "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n");
}

static void play_other_host(run *r)
{
    play_answered(r, "GET /hello HTTP/1.1\r\nHost: other.example\r\n\r\n");
}

static void play_long_target(run *r)
{
    play_refused(
        r, "GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_many_fields(run *r)
{
    play_refused(r, "GET /hello HTTP/1.1\r\nHost: a\r\nB: 1\r\nC: 2\r\nD: 3\r\nE: 4\r\n\r\n");
}

static void play_large_head(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\nB: ");
    client_send_pattern(c, 1, 600);
    client_expect(c);
    client_expect_end(c);
}

static void play_other_coding(run *r)
{
    play_refused(
        r, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
}

static void play_other_version(run *r)
{
    play_refused(r, "GET /hello HTTP/2.0\r\nHost: a\r\n\r\n");
}

static void play_other_expectation(run *r)
{
    play_refused(r,
                 "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 3\r\n\r\nabc");
}

static void play_too_much_collected(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_too_much_chunked(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_send_chunk(c, 1, 900);
    client_send_chunk(c, 1, 900);
    client_expect(c);
    client_expect_end(c);
}

static void play_behind_good_ones(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /length/1/60000 HTTP/1.1\r\nHost: a\r\n\r\n"
           "GET /hello HTTP/1.1\r\nHost : a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 3; i++)
        client_expect(c);
    client_expect_end(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "no Host", .play = play_no_host, .http1_only = "the connection goes on" },
        { .name = "a bare LF", .play = play_bare_lf, .http1_only = "HTTP/2 has no words for it" },
        { .name = "two ways of framing",
          .play = play_two_framings,
          .http1_only = "HTTP/2 has no words for it" },
        { .name = "a broken chunk",
          .play = play_broken_chunk,
          .http1_only = "HTTP/2 has no words for it" },
        { .name = "nothing at the address", .play = play_missing },
        { .name = "another method", .play = play_other_method },
        { .name = "CONNECT", .play = play_connect, .http1_only = "HTTP/2 has no words for it" },
        { .name = "another host", .play = play_other_host, .config = { .hosts = "a" } },
        { .name = "a long target",
          .play = play_long_target,
          .http1_only = "the connection goes on",
          .config = { .target_octets_max = 50 } },
        { .name = "many fields",
          .play = play_many_fields,
          .http1_only = "the connection goes on",
          .config = { .fields_max = 4 } },
        { .name = "a large head",
          .play = play_large_head,
          .http1_only = "the connection goes on",
          .config = { .head_octets_max = 500 } },
        { .name = "another coding",
          .play = play_other_coding,
          .http1_only = "HTTP/2 has no words for it" },
        { .name = "another version",
          .play = play_other_version,
          .http1_only = "HTTP/2 has no words for it" },
        { .name = "another expectation",
          .play = play_other_expectation,
          .http1_only = "the connection goes on" },
        { .name = "more content than is collected",
          .play = play_too_much_collected,
          .config = { .content_octets_max = 1000 } },
        { .name = "more chunks than are collected",
          .play = play_too_much_chunked,
          .config = { .content_octets_max = 1000 } },
        { .name = "a fault behind good requests",
          .play = play_behind_good_ones,
          .http1_only = "HTTP/2 has no words for it" },
    };
    return suite_main("errors", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
