// SPDX-License-Identifier: MIT
//
// Scenarios: clients that send no more (FIN) before they have their answer. What only time can
// bring is not waited for in their name; whatever else there is to come is sent.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

// Sends it all at once, with the end behind it.
static client *play_sent(run *r, const char *requests)
{
    client *c = client_connect(r);
    client_send_last(c, requests);
    return c;
}

static void play_answered(run *r, const char *requests, int answers)
{
    client *c = play_sent(r, requests);
    for (int i = 0; i < answers; i++)
        client_expect(c);
    client_expect_end(c);
}

static void play_ended(run *r, const char *requests)
{
    client *c = play_sent(r, requests);
    client_expect_end(c);
}

// The end comes when the request has been waiting for long.
static void play_ended_later(run *r, const char *requests)
{
    client *c = client_connect(r);
    client_send(c, requests);
    house_await_held(r);
    client_finish(c);
    client_expect_end(c);
}

// ---- What only time can bring ----

static void play_no_answer(run *r)
{
    play_ended(r, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
}

// The kernel tells of the end together with the octets, once.
static void play_no_answer_again(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_rest(c);
    client_send_last(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_end(c);
}

static void play_no_answer_yet(run *r)
{
    play_ended_later(r, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_ticket(run *r)
{
    play_ended(r, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_resume(r);
}

static void play_ticket_later(run *r)
{
    play_ended_later(r, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_resume(r);
}

static void play_content_unread(run *r)
{
    play_ended(r, "POST /hold/content HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
}

// Of the old version, so that an answer of unknown length ends with the connection: what was queued
// before the client left is all there.
static void play_pending(run *r)
{
    play_answered(r, "GET /pull/open/1/50000 HTTP/1.0\r\nHost: a\r\n\r\n", 1);
}

static void play_pushed(run *r)
{
    play_answered(r, "GET /stream/open/2/200000 HTTP/1.0\r\nHost: a\r\n\r\n", 1);
}

static void play_events(run *r)
{
    play_answered(r, "GET /events/open HTTP/1.0\r\nHost: a\r\n\r\n", 1);
}

static void play_events_later(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /events/open HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_head(c);
    client_expect_octets(c, 26);
    client_rest(c);
    client_finish(c);
    client_expect_end(c);
}

// ---- In a batch ----

// Of the two clients the log may hear in any order.
static void play_behind_others(run *r)
{
    play_answered(r, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n", 1);
    play_answered(
        r,
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /length/1/300000 HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        2);
}

static void play_batch_later(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    client_send(c, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_finish(c);
    client_expect(c);
    client_expect_end(c);
    house_resume(r);
}

// ---- What is awaited all the same ----

static void play_library(run *r)
{
    play_answered(
        r, "GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /file HTTP/1.1\r\nHost: a\r\n\r\n",
        2);
    play_answered(
        r, "GET /files/ HTTP/1.1\r\nHost: a\r\n\r\nGET /written HTTP/1.1\r\nHost: a\r\n\r\n", 2);
}

static void play_offloaded(run *r)
{
    play_answered(
        r,
        "GET /offloaded HTTP/1.1\r\nHost: a\r\n\r\nGET /offloaded HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
        3);
}

// The work is done, and the handler goes on to wait for something else.
static void play_offloaded_and_held(run *r)
{
    play_ended(r, "GET /offloaded/held HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void play_spooled(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /spool HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n");
    client_send_pattern(c, 5, 200000);
    client_finish(c);
    client_expect(c);
    client_expect_end(c);
}

// Content that is read bit by bit has all been sent; that its handler takes its time is no waiting
// for anything else.
static void play_counted_slowly(run *r)
{
    client *c = client_connect(r);
    client_send(c, "POST /count/slowly HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
    client_send_pattern(c, 5, 300000);
    client_finish(c);
    client_expect(c);
    client_expect_end(c);
}

// Who waits for room waits for the client, which takes it at last.
static void play_room(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "GET /stream/3/3000000 HTTP/1.1\r\nHost: a\r\n\r\n"
                   "GET /length/4/2000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client_finish(c);
    client_rest(c);
    client_resume(c);
    client_expect(c);
    client_expect(c);
    client_expect_end(c);
}

static void play_duplex(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "POST /duplex HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
    client_send_pattern(c, 7, 1000000);
    client_finish(c);
    client_rest(c);
    client_resume(c);
    client_expect(c);
    client_expect_end(c);
}

// ---- Who asked for it ----

static void play_half_closed(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    client_finish(c);
    house_await_done(r);
    house_release(r);
    client_expect(c);
    client_expect(c);
    client_expect_end(c);
}

static void play_half_closed_sources(run *r)
{
    play_answered(
        r,
        "GET /pull/1/30000 HTTP/1.1\r\nHost: a\r\n\r\nGET /ticket HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /events HTTP/1.1\r\nHost: a\r\n\r\n",
        3);
}

// The reset comes when the server has heard of the end of what the client sends already.
static void play_half_closed_reset(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    client_finish(c);
    house_await_done(r);
    client_reset(c);
    house_await_ends(r);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "a handler that does not answer", .play = play_no_answer },
        { .name = "a handler that does not answer the second request",
          .play = play_no_answer_again },
        { .name = "a handler that has not answered for long", .play = play_no_answer_yet },
        { .name = "a ticket", .play = play_ticket },
        { .name = "a ticket that has been out for long", .play = play_ticket_later },
        { .name = "a handler that has not read the content", .play = play_content_unread },
        { .name = "a source that is pending",
          .play = play_pending,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "a stream that is not finished",
          .play = play_pushed,
          .http1_only = "it is about HTTP/1.0" },
        { .name = "an event stream", .play = play_events, .http1_only = "it is about HTTP/1.0" },
        { .name = "an event stream that has been open for long", .play = play_events_later },
        { .name = "behind requests that are answered",
          .play = play_behind_others,
          .http1_only = "the requests behind one that waits are served" },
        { .name = "before requests that come later",
          .play = play_batch_later,
          .http1_only = "the requests behind one that waits are served" },
        { .name = "files", .play = play_library, .wide = true, .serves_folder = true },
        { .name = "work for a helper", .play = play_offloaded },
        { .name = "a ticket behind work for a helper", .play = play_offloaded_and_held },
        { .name = "content that is kept", .play = play_spooled, .wide = true },
        { .name = "content that is read slowly", .play = play_counted_slowly },
        { .name = "answers that wait for room",
          .play = play_room,
          .wide = true,
          .receive_octets = 4096 },
        { .name = "content both ways", .play = play_duplex, .wide = true, .receive_octets = 4096 },
        { .name = "a client that reads on",
          .play = play_half_closed,
          .config = { .half_close = true } },
        { .name = "a client that reads on, from sources",
          .play = play_half_closed_sources,
          .config = { .half_close = true } },
        { .name = "a client that reads on, and resets",
          .play = play_half_closed_reset,
          .config = { .half_close = true } },
    };
    return suite_main("leaving", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
