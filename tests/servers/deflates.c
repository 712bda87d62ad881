// SPDX-License-Identifier: MIT
//
// A server of WebSockets that compress their messages, in each of the ways there are. One worker.
// Without zlib, /built-in is not found. With DEFLATES_HASTY set a message must come at the minimum rate in each half second.
#include "options.h"
#include "pieces.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POURED = 300, POURED_OCTETS = 99996, SAID = 300 };

static skua_server *server;

static void echo(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    must(text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message));
}

// Pieces that are long and alike, as many as are taken.
static void pour(skua_socket socket, skua_slice message, bool text, void *user)
{
    static char piece[POURED_OCTETS + 8];
    (void)message, (void)text, (void)user;
    int accepted = 0;
    char answer[32];
    must(skua_socket_text(socket, SKUA_SLICE("accepted 300")));
    for (; accepted < POURED; accepted++) {
        int n = snprintf(piece, sizeof piece, "%05d ", accepted);
        for (size_t at = (size_t)n; at < POURED_OCTETS; at += (size_t)n)
            memcpy(piece + at, piece, (size_t)n);
        if (skua_socket_binary(socket, (skua_slice){ piece, POURED_OCTETS })) break;
    }
    int n = snprintf(answer, sizeof answer, "refused at %d", accepted);
    if (accepted < POURED) must(skua_socket_close(socket, 4000, (skua_slice){ answer, (size_t)n }));
}

static void *say_many(void *user)
{
    skua_socket socket = *(skua_socket *)user;
    free(user);
    char text[512];
    for (int i = 0; i < SAID; i++) {
        int n = snprintf(text, sizeof text, "%d ", i);
        for (int word = 0; word < 50; word++)
            n += snprintf(text + n, sizeof text - (size_t)n, "thread ");
        skua_status status;
        do {
            status = skua_socket_text(socket, (skua_slice){ text, (size_t)n });
        } while (status == SKUA_ELIMIT);
        must(status);
    }
    return NULL;
}

static void start_thread(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    pthread_t thread;
    skua_socket *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = socket;
    if (pthread_create(&thread, NULL, say_many, copy)) abort();
    (void)pthread_detach(thread);
}

static void join(skua_socket socket, skua_request *request, void *user)
{
    (void)request, (void)user;
    must(skua_socket_join(socket, SKUA_SLICE("all")));
}

static void publish(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status) return;
    must(skua_topic_publish(server, SKUA_SLICE("all"), &(skua_publication){ .octets = content }));
    must(skua_respond_text(request, 200, "published"));
}

static void collect(skua_request *request, void *user)
{
    (void)user;
    must(skua_content_collect(request, 1 << 20, publish, NULL));
}

static void answer_built_in(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_text(request, 200, "yes"));
}

static void answer_page(skua_request *request, void *user)
{
    static const char page[] =
        "<!DOCTYPE html><title>deflates</title><p>waiting</p><script>\n"
        "const socket = new WebSocket(`ws://${location.host}${location.search.slice(1)}`), told = [];\n"
        "const said = document.querySelector('p'), text = 'a word, and another, and '.repeat(4000);\n"
        "socket.onopen = () => { for (let i = 0; i < 5; i++) socket.send(text.slice(i)); };\n"
        "socket.onmessage = event => {\n"
        "    told.push(event.data === text.slice(told.length));\n"
        "    if (told.length === 5) said.textContent = `${socket.extensions} ${told}`;\n"
        "};\n"
        "socket.onclose = event => { said.textContent += ` closed ${event.code}`; };\n"
        "</script>\n";
    (void)user;
    must(skua_respond(request, 200, "text/html", (skua_slice){ page, sizeof page - 1 }));
}

// ---- Messages that come, and are sent, piece by piece ----

// Received: what came of a message, told when it has ended. With "hold" in the query nothing is given back until
// GET /give; with "close" the socket is closed at the first piece.
static struct {
    uint64_t octets, sum, held;
    size_t longest;
    skua_socket socket;
} sink;

static bool asks_for(skua_socket socket, const char *word)
{
    return skua_slice_is(skua_request_query(skua_socket_request(socket)), word);
}

static void take_piece(skua_socket socket, skua_slice octets)
{
    sink.socket = socket;
    sink.octets += octets.len;
    if (octets.len > sink.longest) sink.longest = octets.len;
    for (size_t i = 0; i < octets.len; i++)
        sink.sum += (unsigned char)octets.ptr[i];
    if (asks_for(socket, "hold")) sink.held += octets.len;
    else skua_socket_consume(socket, octets.len);
    if (asks_for(socket, "close")) must(skua_socket_close(socket, 4008, SKUA_SLICE("enough")));
}

static void on_piece(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                     void *user)
{
    char line[100];
    (void)user;
    switch (event) {
    case SKUA_MESSAGE_BEGIN: sink.octets = sink.sum = sink.held = 0; return;
    case SKUA_MESSAGE_DATA: take_piece(socket, octets); return;
    case SKUA_MESSAGE_END: break;
    }
    int n = snprintf(line, sizeof line, "%s %llu %llu", text ? "text" : "binary",
                     (unsigned long long)sink.octets, (unsigned long long)sink.sum);
    must(skua_socket_text(socket, (skua_slice){ line, (size_t)n }));
}

// How many octets have come of the message, and how many the longest piece of all had.
static void tell_poured(skua_request *request, void *user)
{
    char line[50];
    (void)user;
    (void)snprintf(line, sizeof line, "%llu %zu", (unsigned long long)sink.octets, sink.longest);
    must(skua_respond_text(request, 200, line));
}

static void give_back(skua_request *request, void *user)
{
    size_t held = sink.held;
    sink.held = 0;
    skua_socket_consume(sink.socket, held);
    tell_poured(request, user);
}

static void route_pieces(void)
{
    skua_websocket_desc desc = { .receive = echo_piece,
                                 .keeps_request = true,
                                 .queued_octets_max = 500000,
                                 .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    must(skua_websocket(server, "GET /pieces/shared", &desc));
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED;
    desc.open = join;
    must(skua_websocket(server, "GET /pieces/dedicated", &desc));
    desc.open = NULL;
    desc.deflate_window_bits = 15;
    must(skua_websocket(server, "GET /pieces/large", &desc));
    desc.receive = on_piece;
    must(skua_websocket(server, "GET /sink/large", &desc));
    desc.message_octets_max = 200000;
    must(skua_websocket(server, "GET /sink/bounded", &desc));
    desc.message_octets_max = 0;
    desc.deflate_window_bits = 0;
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_SHARED;
    must(skua_websocket(server, "GET /sink/shared", &desc));
    must(skua_route(server, "GET /poured", tell_poured, NULL));
    must(skua_route(server, "GET /give", give_back, NULL));
}

// Answers with the time of the worker's turn.
static void tell_turn(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    char answer[32];
    const skua_worker *worker = skua_request_worker(skua_socket_request(socket));
    int n = snprintf(answer, sizeof answer, "%lld", (long long)skua_worker_now_ns(worker));
    must(skua_socket_text(socket, (skua_slice){ answer, (size_t)n }));
}

// Returns: whether compression is built in.
static bool route_sockets(void)
{
    skua_websocket_desc desc = { .message = echo,
                                 .keeps_request = true,
                                 .message_octets_max = 200000,
                                 .queued_octets_max = 500000,
                                 .deflate = SKUA_WEBSOCKET_DEFLATE_SHARED };
    if (skua_websocket(server, "GET /shared", &desc) == SKUA_EUNSUPPORTED) return false;
    desc.open = join;
    must(skua_websocket(server, "GET /topic-shared", &desc));
    desc.open = NULL;
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED;
    must(skua_websocket(server, "GET /dedicated", &desc));
    desc.open = join;
    must(skua_websocket(server, "GET /topic-dedicated", &desc));
    desc.open = NULL;
    desc.deflate_window_bits = 15;
    must(skua_websocket(server, "GET /large", &desc));
    // two windows of 9 bits to deflate by, and one octet too few for a third
    desc.deflate_window_bits = 9;
    desc.deflate_memory_max = 3 * (8 * 512 + 8192) - 1;
    must(skua_websocket(server, "GET /bounded", &desc));
    desc.deflate_memory_max = 0;
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_OFF;
    desc.deflate_window_bits = 0;
    must(skua_websocket(server, "GET /off", &desc));
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED;
    desc.message = start_thread;
    must(skua_websocket(server, "GET /thread-dedicated", &desc));
    desc.deflate = SKUA_WEBSOCKET_DEFLATE_SHARED;
    must(skua_websocket(server, "GET /thread", &desc));
    desc.message = tell_turn;
    must(skua_websocket(server, "GET /turns", &desc));
    desc.message = pour;
    must(skua_websocket(server, "GET /pour", &desc));
    return true;
}

int main(int argc, char **argv)
{
    const skua_config config = { .hosts = "*",
                                 .workers = 1,
                                 .log = SKUA_LOG_SHORT,
                                 .rate_window_ns = getenv("DEFLATES_HASTY") ? 500000000 : 0,
                                 .http2 = { .tunnels = true } };
    server = server_with_options(&config, argc, argv);
    if (route_sockets()) {
        route_pieces();
        must(skua_route(server, "GET /built-in", answer_built_in, NULL));
    }
    must(skua_route(server, "POST /publish", collect, NULL));
    must(skua_route(server, "GET /page", answer_page, NULL));
    return server_serve(server, "deflates");
}
