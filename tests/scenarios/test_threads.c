// SPDX-License-Identifier: MIT
//
// Scenarios: answers that other threads have a part in.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_gets(run *r, const char *requests, int answers)
{
    client *c = client_connect(r);
    client_send(c, requests);
    for (int i = 0; i < answers; i++)
        client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_ticket(run *r)
{
    play_gets(r, "GET /ticket HTTP/1.1\r\nHost: a\r\n\r\nGET /ticket HTTP/1.1\r\nHost: a\r\n\r\n",
              2);
}

static void play_posted(run *r)
{
    play_gets(r, "GET /posted HTTP/1.1\r\nHost: a\r\n\r\nGET /posted HTTP/1.1\r\nHost: a\r\n\r\n",
              2);
}

static void play_offloaded(run *r)
{
    play_gets(r, "GET /offloaded HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
              2);
}

static void play_blocking(run *r)
{
    play_gets(
        r,
        "POST /blocking HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        "POST /blocking HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ndefg\r\n0\r\n\r\n",
        2);
}

static void play_blocking_silent(run *r)
{
    play_gets(r, "POST /blocking/silent HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 1);
}

static void play_ticket_held(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    house_resume(r);
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_ticket_too_late(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    client_reset(c);
    house_await_ends(r);
    house_resume(r);
    client_rest(c);
}

static void play_stop_with_ticket(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    skua_stop(r->host.server, 0);
    client_expect_cut(c);
    house_resume(r);
}

// Two clients, so that one waits while the other is served.
static void play_two(run *r)
{
    client *a = client_connect(r);
    client_send(a, "GET /ticket/held HTTP/1.1\r\nHost: a\r\n\r\n");
    house_await_held(r);
    client *b = client_connect(r);
    client_send(b, "GET /offloaded HTTP/1.1\r\nHost: a\r\n\r\n"
                   "POST /blocking HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    client_expect(b);
    client_expect(b);
    house_resume(r);
    client_expect(a);
    client_finish(a);
    client_expect_end(a);
    client_finish(b);
    client_expect_end(b);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "tickets", .play = play_ticket },
        { .name = "functions that are posted", .play = play_posted },
        { .name = "work for a helper", .play = play_offloaded },
        { .name = "blocking handlers", .play = play_blocking },
        { .name = "a blocking handler that does not answer", .play = play_blocking_silent },
        { .name = "a ticket that is resumed later", .play = play_ticket_held },
        { .name = "a ticket that is resumed too late", .play = play_ticket_too_late },
        { .name = "a ticket that is resumed when the server has stopped",
          .play = play_stop_with_ticket },
        { .name = "two clients", .play = play_two },
    };
    return suite_main("threads", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
