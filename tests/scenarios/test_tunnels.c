// SPDX-License-Identifier: MIT
//
// Scenarios: tunnels after 101 (Switching Protocols).

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static const char tunnel_request[] =
    "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

static void play_there_and_back(run *r)
{
    client *c = client_connect(r);
    client_send(c, tunnel_request);
    client_expect(c);
    client_send(c, "ping");
    client_expect_octets(c, 4);
    client_send(c, "GET /hello HTTP/1.1\r\n\r\n");
    client_expect_octets(c, 23);
    client_finish(c);
    client_expect_end(c);
}

static void play_behind_the_head(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nat once");
    client_expect(c);
    client_expect(c);
    client_expect_octets(c, 7);
    client_finish(c);
    client_expect_end(c);
}

static void play_much(run *r)
{
    client *c = client_connect(r);
    client_send(c, tunnel_request);
    client_expect(c);
    client_send_pattern(c, 9, 500000);
    client_finish(c);
    client_expect_octets(c, 500000);
    client_expect_end(c);
}

static void play_kept(run *r)
{
    client *c = client_connect(r);
    client_send(c,
                "POST /tunnel/kept HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
                "Content-Length: 65536\r\n\r\n");
    client_send_pattern(c, 3, 65536);
    client_expect(c);
    client_send_pattern(c, 9, 100000);
    client_finish(c);
    client_expect_octets(c, 100000);
    client_expect_end(c);
}

static void play_first(run *r)
{
    client *c = client_connect(r);
    client_send(
        c, "GET /tunnel/first HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    client_expect(c);
    client_expect_octets(c, 8);
    client_expect_end(c);
}

static void play_not_asked(run *r)
{
    client *c = client_connect(r);
    client_send(c, "GET /tunnel HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_finish(c);
    client_expect_end(c);
}

static void play_left(run *r)
{
    client *c = client_connect(r);
    client_send(c, tunnel_request);
    client_expect(c);
    client_send(c, "ping");
    client_expect_octets(c, 4);
    client_reset(c);
    house_await_ends(r);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "there and back", .play = play_there_and_back },
        { .name = "octets behind the head", .play = play_behind_the_head },
        { .name = "much through a tunnel", .play = play_much },
        { .name = "a window's content before it", .play = play_kept },
        { .name = "the server closes first", .play = play_first },
        { .name = "a client that does not ask for it", .play = play_not_asked },
        { .name = "a tunnel whose client goes", .play = play_left },
    };
    return suite_main("tunnels", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
