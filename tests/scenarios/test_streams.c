// SPDX-License-Identifier: MIT
//
// Scenarios: answers that are written piece by piece, events, and content both ways at once.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_end(client *c)
{
    client_finish(c);
    client_expect_end(c);
}

static void play_stream(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "GET /stream/1/0 HTTP/1.1\r\nHost: a\r\n\r\nGET /stream/2/200000 HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 3; i++)
        client_expect(c);
    play_end(c);
}

static void play_stream_to_head(run *r)
{
    client *c = client_connect(r);
    client_send(c, "HEAD /stream/2/200000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_to_head(c);
    play_end(c);
}

static void play_old_stream(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /stream/2/50000 HTTP/1.0\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_paused(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "GET /stream/3/3000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_resume(c);
    client_expect(c);
    play_end(c);
}

static void play_reset(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "GET /stream/3/4000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_reset(c);
    house_await_ends(r);
}

static void play_duplex(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /duplex HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (unsigned i = 0; i < 5; i++)
        client_send_chunk(c, i, 30000);
    client_rest(c);
    client_send(c, "0\r\n\r\n");
    client_expect(c);
    client_send(c, "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
    client_send_pattern(c, 7, 200000);
    client_expect(c);
    play_end(c);
}

// Neither side reads before the other does: what is not read holds back what is not written.
static void play_duplex_paused(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n");
    client_send_pattern(c, 7, 3000000);
    client_rest(c);
    client_resume(c);
    client_expect(c);
    play_end(c);
}

static void play_duplex_cut_off(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n");
    client_send_pattern(c, 7, 50);
    client_rest(c);
    client_finish(c);
    client_expect_part(c);
    client_expect_cut(c);
}

static void play_events(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    play_end(c);
}

static void play_old_events(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events HTTP/1.0\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_events_left(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events/open HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_head(c);
    client_reset(c);
    house_await_ends(r);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "streams in a pipeline", .play = play_stream },
        { .name = "a stream for HEAD", .play = play_stream_to_head },
        { .name = "a stream for an old client",
          .play = play_old_stream,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "a client that pauses before a stream",
          .play = play_paused,
          .receive_octets = 4096 },
        { .name = "a client that resets before a stream's end",
          .play = play_reset,
          .receive_octets = 4096 },
        { .name = "content both ways", .play = play_duplex },
        { .name = "content both ways, which is read late",
          .play = play_duplex_paused,
          .receive_octets = 4096 },
        { .name = "content both ways, which breaks off", .play = play_duplex_cut_off },
        { .name = "events", .play = play_events },
        { .name = "events for an old client",
          .play = play_old_events,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "events whose client goes", .play = play_events_left },
    };
    return suite_main("streams", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
