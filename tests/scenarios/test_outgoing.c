// SPDX-License-Identifier: MIT
//
// Scenarios: a request that is answered with what the server's worker has asked somebody else.

#include "scenarios/far.h"
#include "scenarios/house.h"
#include "scenarios/suite.h"

static const char question[] = "a question\n";
static const int64_t hour_ns = (int64_t)3600 * 1000000000;

static client *play_asking(run *r, far_kind kind)
{
    far_open(r, kind);
    client *c = client_connect(r);
    client_send(c, "GET /ask/10 HTTP/1.1\r\nHost: a\r\n\r\n");
    return c;
}

static client *play_asked(run *r)
{
    client *f = far_accept(r);
    client_expect_octets(f, sizeof question - 1);
    return f;
}

static void play_end(client *c)
{
    client_finish(c);
    client_expect_end(c);
}

// ---- It answers ----

static void play_answer(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_send(f, "the answer");
    client_expect(c);
    play_end(f); // the connection rests until one of both ends it
    play_end(c);
}

static void play_answers(run *r)
{
    client *a = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client *b = client_connect(r);
    client_send(b, "GET /ask/70000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client *g = play_asked(r);
    client_send_pattern(g, 1, 70000);
    client_expect(b);
    client_send(f, "the answer");
    client_expect(a);
    play_end(a);
    play_end(b);
    play_end(f);
    play_end(g);
}

// ---- It does not ----

static void play_refused(run *r)
{
    client *c = play_asking(r, FAR_IS_NOBODY);
    client_expect(c);
    play_end(c);
}

static void play_unanswered(run *r)
{
    client *c = play_asking(r, FAR_IS_SILENT);
    client_expect(c);
    play_end(c);
}

static void play_says_nothing(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_expect(c);
    client_expect_end(f);
    play_end(c);
}

static void play_ends_early(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_send_last(f, "the an");
    client_expect(c);
    client_expect_end(f);
    play_end(c);
}

static void play_resets(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_send(f, "the an");
    client_reset(f);
    client_expect(c);
    play_end(c);
}

static void play_client_leaves(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_finish(c);
    client_expect_end(c);
    client_expect_end(f);
}

// ---- The server stops ----

static void play_stop_while_connecting(run *r)
{
    client *c = play_asking(r, FAR_IS_SILENT);
    house_await_held(r);
    skua_stop(r->host.server, 0);
    client_expect_cut(c);
}

static void play_stop_while_asking(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    skua_stop(r->host.server, 0);
    client_expect_cut(c);
    client_expect_cut(f);
}

static void play_stop_with_grace(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    skua_stop(r->host.server, hour_ns);
    client_rest(c);
    client_send(f, "the answer");
    client_expect(c);
    client_expect_end(f);
    client_expect_end(c);
}

// A connection that rests is closed as soon as the server drains, or it would take the whole grace.
static void play_stop_with_resting(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client_send(f, "the answer");
    client_expect(c);
    play_end(c);
    client_rest(f);
    skua_stop(r->host.server, hour_ns);
    client_expect_end(f);
}

// ---- Limits ----

// The client's own connection is the only one there may be.
static void play_only_one(run *r)
{
    client *c = play_asking(r, FAR_LISTENS), *f = play_asked(r);
    client *other = client_connect(r);
    client_expect_cut(other);
    client_send(f, "the answer");
    client_expect(c);
    play_end(c);
    client_rest(f);
    client *next = client_connect(r); // the connection that rests takes no place
    client_send(next, "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(next);
    play_end(next);
    play_end(f);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "an answer from the far end", .play = play_answer },
        { .name = "two questions at a time", .play = play_answers },
        { .name = "nobody is there", .play = play_refused },
        { .name = "connecting is not answered", .play = play_unanswered, .waits = true },
        { .name = "the far end says nothing", .play = play_says_nothing, .waits = true },
        { .name = "the far end ends early", .play = play_ends_early },
        { .name = "the far end resets", .play = play_resets },
        { .name = "the client leaves meanwhile", .play = play_client_leaves },
        { .name = "a stop while it connects", .play = play_stop_while_connecting },
        { .name = "a stop while it waits for an answer", .play = play_stop_while_asking },
        { .name = "a stop that waits for the answer", .play = play_stop_with_grace },
        { .name = "a stop with a connection that rests", .play = play_stop_with_resting },
        { .name = "no place is taken from clients",
          .play = play_only_one,
          .config = { .connections_max = 1 } },
    };
    return suite_main("outgoing", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
