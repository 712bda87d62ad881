// SPDX-License-Identifier: MIT
//
// Scenarios: files, from a folder and by handlers.

#include "scenarios/house.h"
#include "scenarios/script.h"
#include "scenarios/suite.h"

static void play_get(client *c, const char *path, const char *fields)
{
    text request = { .len = 0 };
    text_addf(&request, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, fields);
    client_send(c, request.octets);
    text_free(&request);
    client_expect(c);
}

static void play_end(client *c)
{
    client_finish(c);
    client_expect_end(c);
}

static void play_sizes(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/files/small.txt", "");
    play_get(c, "/files/small.txt", "");
    play_get(c, "/files/empty.txt", "");
    play_get(c, "/files/large.bin", "");
    play_get(c, "/files/large.bin", "");
    play_end(c);
}

static void play_names(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/files/", "");
    play_get(c, "/files", "");
    play_get(c, "/files/missing", "");
    play_get(c, "/files/../files/small.txt", "");
    play_get(c, "/files/.hidden", "");
    play_get(c, "/files/small.txt/", "");
    play_end(c);
}

static void play_head(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "HEAD /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\nHEAD /files/small.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_to_head(c);
    client_expect_to_head(c);
    play_end(c);
}

static void play_ranges(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/files/small.txt", "Range: bytes=10-19\r\n");
    play_get(c, "/files/small.txt", "Range: bytes=-5\r\n");
    play_get(c, "/files/small.txt", "Range: bytes=300-\r\n");
    play_get(c, "/files/large.bin", "Range: bytes=1000000-1099999\r\n");
    play_get(c, "/files/small.txt", "Range: bytes=0-9, 20-29,  290-\r\n");
    play_get(c, "/files/large.bin", "Range: bytes=0-99999, 200000-299999\r\n");
    play_get(c, "/files/small.txt", "Range: bytes=0-19, 10-29\r\n");
    play_end(c);
}

static void play_conditions(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/files/small.txt", "If-None-Match: *\r\n");
    play_get(c, "/files/small.txt", "If-None-Match: \"other\"\r\n");
    play_get(c, "/files/small.txt", "If-Match: \"other\"\r\n");
    play_get(c, "/files/large.bin", "If-Modified-Since: Wed, 01 Jan 2020 00:00:00 GMT\r\n");
    play_get(c, "/files/small.txt", "If-Unmodified-Since: Tue, 31 Dec 2019 23:59:59 GMT\r\n");
    play_get(c, "/files/small.txt",
             "If-Range: Wed, 01 Jan 2020 00:00:00 GMT\r\nRange: bytes=0-4\r\n");
    play_get(c, "/files/small.txt",
             "If-Range: Thu, 02 Jan 2020 00:00:00 GMT\r\nRange: bytes=0-4\r\n");
    play_end(c);
}

static void play_pipelined(run *r)
{
    client *c = client_connect(r);
    client_send(
        c,
        "GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /files/small.txt HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /missing HTTP/1.1\r\nHost: a\r\n\r\nGET /files/index.html HTTP/1.0\r\n\r\n");
    for (int i = 0; i < 6; i++)
        client_expect(c);
    client_expect_end(c);
}

static void play_paused(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    for (int i = 0; i < 5; i++)
        client_send(c, "GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client_finish(c);
    client_rest(c);
    client_resume(c);
    for (int i = 0; i < 5; i++)
        client_expect(c);
    client_expect_end(c);
}

static void play_reset(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    for (int i = 0; i < 5; i++)
        client_send(c, "GET /files/large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_reset(c);
    client_rest(c);
}

// A page is the same whether its listing is kept between its pieces or not; but for the path in it.
static void play_listings(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/kept/many/?sort=size&order=desc", "");
    play_get(c, "/kept/many/", "");
    play_get(c, "/lost/many/", "");
    client_send(c, "HEAD /lost/many/ HTTP/1.1\r\nHost: a\r\n\r\n");
    client_expect_to_head(c);
    play_get(c, "/files/many/", "");
    client_send(c, "GET /kept/many/ HTTP/1.0\r\nHost: a\r\n\r\n");
    client_expect(c);
    client_expect_end(c);
}

static void play_paused_listings(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(
        c,
        "GET /lost/many/?sort=time HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
        "GET /kept/many/?order=desc HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_resume(c);
    for (int i = 0; i < 3; i++)
        client_expect(c);
    play_end(c);
}

static void play_reset_listings(run *r)
{
    client *c = client_connect(r);
    client_pause(c);
    client_send(c, "GET /lost/many/ HTTP/1.1\r\nHost: a\r\n\r\n");
    client_rest(c);
    client_reset(c);
    client_rest(c);
}

static void play_handlers(run *r)
{
    client *c = client_connect(r);
    play_get(c, "/file", "");
    play_get(c, "/file/missing", "");
    play_get(c, "/written", "");
    play_end(c);
}

static void play_method(run *r)
{
    client *c = client_connect(r);
    client_send(c, "PUT /files/small.txt HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    client_expect(c);
    play_end(c);
}

int main(int argc, char **argv)
{
    static const scenario scenarios[] = {
        { .name = "small, empty and large", .play = play_sizes, .serves_folder = true },
        { .name = "names", .play = play_names, .serves_folder = true },
        { .name = "files for HEAD", .play = play_head, .serves_folder = true },
        { .name = "ranges", .play = play_ranges, .serves_folder = true },
        { .name = "conditions", .play = play_conditions, .serves_folder = true },
        { .name = "files in a pipeline",
          .play = play_pipelined,
          .http1_only = "one of the requests is of HTTP/1.0",
          .serves_folder = true },
        { .name = "a pipeline that nobody watches",
          .play = play_pipelined,
          .http1_only = "one of the requests is of HTTP/1.0",
          .serves_folder = true,
          .unwatched = true },
        { .name = "a client that pauses before files",
          .play = play_paused,
          .wide = true,
          .serves_folder = true,
          .receive_octets = 4096 },
        { .name = "a client that resets before files",
          .play = play_reset,
          .serves_folder = true,
          .receive_octets = 4096,
          .unwatched = true },
        { .name = "listings",
          .play = play_listings,
          .http1_only = "one of the requests is of HTTP/1.0",
          .serves_folder = true },
        { .name = "a client that pauses in listings",
          .play = play_paused_listings,
          .serves_folder = true,
          .receive_octets = 4096 },
        { .name = "a client that resets in a listing",
          .play = play_reset_listings,
          .serves_folder = true,
          .receive_octets = 4096,
          .unwatched = true },
        { .name = "files that handlers open", .play = play_handlers, .serves_folder = true },
        { .name = "a method that files do not take", .play = play_method, .serves_folder = true },
    };
    return suite_main("files", scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
