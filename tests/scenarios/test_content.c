// SPDX-License-Identifier: MIT
//
// Scenarios: content that clients send.

#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_end(client *c)
{
    client_finish(c);
    client_expect_end(c);
}

static void play_stated(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n");
    client_send_pattern(c, 5, 40000);
    client_expect(c);
    play_end(c);
}

static void play_chunked(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_send_chunk(c, 1, 10);
    client_rest(c);
    client_send_chunk(c, 2, 20000);
    client_send(c, "3;name=\"value\"\r\nabc\r\n0\r\nX-Sum: 17\r\nX-Other: 1\r\n\r\n");
    client_expect(c);
    play_end(c);
}

static void play_counted(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n");
    client_send_pattern(c, 5, 400000);
    client_expect(c);
    client_send(c,
                "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    client_expect(c);
    play_end(c);
}

static void play_slowly(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count/slowly HTTP/1.1\r\nHost: a\r\nContent-Length: 600000\r\n\r\n");
    client_send_pattern(c, 6, 600000);
    client_expect(c);
    play_end(c);
}

static void play_slowly_and_done(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count/slowly HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
    client_send_pattern(c, 6, 300000);
    client_finish(c);
    client_expect(c);
    client_expect_end(c);
}

static void play_continue(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client_expect(c);
    client_send(c, "abcde");
    client_expect(c);
    play_end(c);
}

static void play_continue_refused(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "POST /refuse/403 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_continue_too_much(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "POST /at-most/4 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_discarded(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /refuse/403 HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\n\r\n");
    client_send_pattern(c, 1, 3000);
    client_send(c, "POST /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_send_chunk(c, 1, 3000);
    client_send(c, "0\r\n\r\n");
    client_expect(c);
    client_expect(c);
    play_end(c);
}

// Octets that the client goes on sending are drained, so that the answer reaches it.
static void play_too_much_to_discard(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /refuse/403 HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
    client_send_pattern(c, 1, 200000);
    client_expect(c);
    client_expect_end(c);
}

static void play_at_most_chunked(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /at-most/1000 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client_send_chunk(c, 1, 1000);
    client_send_chunk(c, 1, 1);
    client_expect(c);
    client_expect_end(c);
}

static void play_spooled(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /spool HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    client_send_pattern(c, 1, 100);
    client_expect(c);
    client_send(c, "POST /spool HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n");
    client_send_pattern(c, 2, 90000);
    client_expect(c);
    play_end(c);
}

static void play_form(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=cut\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
        "76\r\n--cut\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"
        "--cut\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n22\r\n--cut--\r\n\r\n0\r\n\r\n");
    client_expect(c);
    client_send(
        c,
        "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nab");
    client_expect(c);
    play_end(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "content of stated length", .play = play_stated },
        { .name = "chunked content with trailers", .play = play_chunked },
        { .name = "content that is read as it comes", .play = play_counted },
        { .name = "content that is read slowly", .play = play_slowly },
        { .name = "content that is read slowly, and no more behind it",
          .play = play_slowly_and_done },
        { .name = "100 (Continue)", .play = play_continue },
        { .name = "an expectation that is not met", .play = play_continue_refused },
        { .name = "an expectation to send too much", .play = play_continue_too_much },
        { .name = "content that nobody reads",
          .play = play_discarded,
          .http1_only = "a response before the end of its request resets the stream" },
        { .name = "too much content that nobody reads", .play = play_too_much_to_discard },
        { .name = "more chunks than a handler takes", .play = play_at_most_chunked },
        { .name = "content that is kept in a file", .play = play_spooled },
        { .name = "a form", .play = play_form },
    };
    return suite_main("content", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
