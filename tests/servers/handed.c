// SPDX-License-Identifier: MIT
//
// A server that is one of several on the same socket, one after the other: handed --given FD. It takes content and tells its checksum,
// streams, and echoes the messages of WebSockets.
#include "options.h"

#include <stdio.h>
#include <stdlib.h>

enum { STREAM_OCTETS = 2000000 };

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "handed: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static void answer(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_text(request, 200, "here"));
}

// ---- Adler-32 of content (RFC 1950) ----

typedef struct checksum {
    uint32_t a, b;
} checksum;

static void checksum_piece(skua_request *request, skua_content_event event, skua_slice octets,
                           void *user)
{
    checksum *sum = user;
    if (event == SKUA_CONTENT_LOST) return;
    for (size_t i = 0; i < octets.len; i++) {
        sum->a = (sum->a + (unsigned char)octets.ptr[i]) % 65521;
        sum->b = (sum->b + sum->a) % 65521;
    }
    skua_content_consume(request, octets.len);
    if (event == SKUA_CONTENT_END)
        must(skua_respond_format(request, 200, NULL, "%u", sum->b << 16 | sum->a));
}

static void on_content(skua_request *request, void *user)
{
    (void)user;
    checksum *sum = skua_request_alloc(request, sizeof *sum);
    if (!sum) abort();
    *sum = (checksum){ 1, 0 };
    must(skua_content_read(request, checksum_piece, sum));
}

// ---- A stream ----

static skua_pulled stream_pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                               void *user)
{
    (void)request;
    size_t *at = user, left = STREAM_OCTETS - *at;
    size_t n = room < left ? room : left;
    for (size_t i = 0; i < n; i++, ++*at)
        buffer[i] = (char)(*at * 31 + *at / 256);
    *octets = n;
    return *at == STREAM_OCTETS ? SKUA_PULL_END : SKUA_PULL_OCTETS;
}

static void on_stream(skua_request *request, void *user)
{
    (void)user;
    size_t *at = skua_request_alloc(request, sizeof *at);
    if (!at) abort();
    *at = 0;
    must(skua_respond_pull(request, 200, NULL, -1, stream_pull, at));
}

// ---- WebSockets ----

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    must(text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message));
}

int main(int argc, char **argv)
{
    skua_server *server = server_from_options(argc, argv);
    must(skua_route(server, "GET /{$}", answer, NULL));
    must(skua_route(server, "PUT /{$}", answer, NULL));
    must(skua_route(server, "POST /sum", on_content, NULL));
    must(skua_route(server, "GET /data", on_stream, NULL));
    must(skua_websocket(server, "GET /socket", &(skua_websocket_desc){ .message = on_message }));
    return server_serve(server, "handed");
}
