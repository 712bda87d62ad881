// SPDX-License-Identifier: MIT
//
// A server of WebSockets that are parked while nothing is under way. One worker.
// GET /memory tells the octets that clients make it hold, GET /closes how sockets have ended. MEMORY_MAX is in the
// environment; QUIET says that there is no access log.
#include "options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARKED_SOCKETS_MAX = 20000, PARKED_CLOSES_OCTETS = 1 << 20, PARKED_MORE_MAX = 1 << 20 };

static skua_server *server;
static skua_socket
    sockets[PARKED_SOCKETS_MAX]; // all that were ever opened; the worker adds, threads read
static size_t sockets_count;
static char closes[PARKED_CLOSES_OCTETS];
static size_t closes_len;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "parked: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// ---- Sockets ----

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    if (skua_socket_request(socket) != request) abort();
    must(skua_socket_text(socket, skua_request_param(request, "name")));
    (void)pthread_mutex_lock(&lock);
    if (sockets_count == PARKED_SOCKETS_MAX) abort();
    sockets[sockets_count++] = socket;
    (void)pthread_mutex_unlock(&lock);
}

static void on_open_joined(skua_socket socket, skua_request *request, void *user)
{
    must(skua_socket_join(socket, skua_request_param(request, "name")));
    on_open(socket, request, user);
}

static void on_open_held(skua_socket socket, skua_request *request, void *user)
{
    skua_request_hold(request);
    on_open(socket, request, user);
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)user;
    if (skua_socket_request(socket)) abort();
    (void)pthread_mutex_lock(&lock);
    int n = snprintf(closes + closes_len, sizeof closes - closes_len, "%u %" SKUA_FMT "\n", code,
                     SKUA_ARG(reason));
    if (n > 0 && (size_t)n < sizeof closes - closes_len) closes_len += (size_t)n;
    (void)pthread_mutex_unlock(&lock);
}

static void on_closing(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)reason, (void)user;
    char line[24];
    int n = snprintf(line, sizeof line, "closing %u", code);
    skua_log(server, (skua_slice){ line, (size_t)n });
    if (skua_socket_text(socket, SKUA_SLICE("late")) != SKUA_ECLOSED) abort();
}

// "count" answers with how many of these have come: the number is the socket's object, and is kept while it is parked.
static void count(skua_socket socket)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%zu", 1 + (size_t)skua_socket_get(socket));
    must(skua_socket_set(socket, (char *)skua_socket_get(socket) + 1));
    must(skua_socket_text(socket, (skua_slice){ text, (size_t)n }));
}

// "protocol", "count", "join NAME", "leave NAME", "pause", "begin" a message that "end" ends, "close"; anything else is echoed.
static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)text, (void)user;
    skua_slice name = { message.ptr + 6, message.len > 6 ? message.len - 6 : 0 };
    if (skua_socket_request(socket)) abort();
    if (skua_slice_is(message, "protocol"))
        must(skua_socket_text(socket, skua_socket_protocol(socket)));
    else if (skua_slice_is(message, "count")) count(socket);
    else if (skua_slice_starts(message, "join  ")) must(skua_socket_join(socket, name));
    else if (skua_slice_starts(message, "leave ")) must(skua_socket_leave(socket, name));
    else if (skua_slice_is(message, "pause")) skua_socket_pause(socket);
    else if (skua_slice_is(message, "begin")) must(skua_socket_begin(socket, true));
    else if (skua_slice_is(message, "end")) must(skua_socket_end(socket));
    else if (skua_slice_is(message, "close"))
        must(skua_socket_close(socket, 4002, SKUA_SLICE("bye")));
    else must(skua_socket_text(socket, message));
}

// ---- Requests ----

static void answer_memory(skua_request *request, void *user)
{
    (void)user;
    char text[40];
    skua_stats stats;
    skua_server_stats(server, &stats);
    (void)snprintf(text, sizeof text, "%zu", stats.memory_octets);
    must(skua_respond_text(request, 200, text));
}

static void answer_closes(skua_request *request, void *user)
{
    (void)user;
    (void)pthread_mutex_lock(&lock);
    skua_status status =
        skua_respond(request, 200, "text/plain", (skua_slice){ closes, closes_len });
    (void)pthread_mutex_unlock(&lock);
    must(status);
}

static size_t sockets_so_far(void)
{
    (void)pthread_mutex_lock(&lock);
    size_t count = sockets_count;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

static void *send_to_all(void *user)
{
    int64_t rounds = *(const int64_t *)user;
    size_t count = sockets_so_far();
    for (int64_t i = 0; i < rounds; i++) {
        char text[24];
        int n = snprintf(text, sizeof text, "%lld", (long long)i);
        for (size_t k = 0; k < count; k++) {
            skua_status status;
            do {
                status = skua_socket_text(sockets[k], (skua_slice){ text, (size_t)n });
            } while (status == SKUA_ELIMIT);
            must(status);
        }
    }
    return NULL;
}

// POST /send?rounds=: a thread sends each socket so many messages, "0", "1" and so on.
static void on_send(skua_request *request, void *user)
{
    (void)user;
    static int64_t rounds;
    pthread_t thread;
    if (!skua_request_query_i64(request, "rounds", 1, 0, 100000, &rounds)) return;
    if (pthread_create(&thread, NULL, send_to_all, &rounds) || pthread_detach(thread)) abort();
    must(skua_respond_text(request, 200, "sending"));
}

// "here", and behind it as many dots as ?more= says.
static skua_slice here(skua_request *request)
{
    static char text[4 + PARKED_MORE_MAX];
    int64_t more;
    if (!skua_request_query_i64(request, "more", 0, 0, PARKED_MORE_MAX, &more)) abort();
    memset(text, '.', sizeof text);
    memcpy(text, "here", 4);
    return (skua_slice){ text, 4 + (size_t)more };
}

// POST /here?more=: the worker sends each socket a message, all in one turn, and tells the octets that it holds then.
static void on_send_here(skua_request *request, void *user)
{
    size_t count = sockets_so_far();
    for (size_t k = 0; k < count; k++)
        must(skua_socket_text(sockets[k], here(request)));
    answer_memory(request, user);
}

// POST /close-here: the worker closes each socket, all in one turn, twice.
static void on_close_here(skua_request *request, void *user)
{
    (void)user;
    size_t count = sockets_so_far();
    for (size_t k = 0; k < 2 * count; k++)
        must(skua_socket_close(sockets[k % count], 4003, SKUA_SLICE("")));
    must(skua_respond_text(request, 200, "closing"));
}

// POST /fill: in one turn "here" to all but the last socket, and to that 64 long messages with their numbers, or as many
// as there is room for. Tells how many they were.
static void on_fill(skua_request *request, void *user)
{
    (void)user;
    static unsigned number;
    char text[4001];
    int sent = 0;
    size_t last = sockets_so_far() - 1;
    for (size_t k = 0; k < last; k++)
        must(skua_socket_text(sockets[k], SKUA_SLICE("here")));
    for (; sent < 64; sent++) {
        (void)snprintf(text, sizeof text, "%04000u", number);
        skua_status status = skua_socket_text(sockets[last], (skua_slice){ text, 4000 });
        if (status == SKUA_ELIMIT) break;
        must(status);
        number++;
    }
    (void)snprintf(text, sizeof text, "%d", sent);
    must(skua_respond_text(request, 200, text));
}

static void *close_all(void *user)
{
    (void)user;
    size_t count = sockets_so_far();
    for (size_t k = 0; k < count; k++)
        must(skua_socket_close(sockets[k], 4003, SKUA_SLICE("")));
    return NULL;
}

static void on_close_all(skua_request *request, void *user)
{
    (void)user;
    pthread_t thread;
    if (pthread_create(&thread, NULL, close_all, NULL) || pthread_detach(thread)) abort();
    must(skua_respond_text(request, 200, "closing"));
}

// POST /publish/{name}?text= or ?more=, as /here.
static void on_publish(skua_request *request, void *user)
{
    (void)user;
    skua_publication what = { .octets = skua_request_query_param(request, "text") };
    if (!what.octets.len) what.octets = here(request);
    must(skua_topic_publish(server, skua_request_param(request, "name"), &what));
    must(skua_respond_text(request, 200, "published"));
}

// The request of the last socket of /held, whose path is told in answer to each message.
static skua_request *held;

static void on_message_held(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    must(skua_socket_text(socket, skua_request_path(held)));
}

static void on_open_and_hold(skua_socket socket, skua_request *request, void *user)
{
    held = request;
    on_open_held(socket, request, user);
}

static void on_close_held(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    skua_request_drop(held);
    on_close(socket, code, reason, user);
}

// ---- Routes ----

static void route_sockets(void)
{
    const skua_websocket_desc usual = { .open = on_open,
                                        .message = on_message,
                                        .close = on_close,
                                        .closing = on_closing,
                                        .protocols = "v2.example v1.example" };
    skua_websocket_desc joined = usual, pinged = usual, mortal = usual, limited = usual,
                        held_ones = usual;
    joined.open = on_open_joined;
    pinged.ping_ns = 1500000000;
    pinged.idle_timeout_ns = 4500000000;
    mortal.lifetime_ns = 3000000000;
    limited.messages_per_second_max = 5;
    held_ones.open = on_open_and_hold;
    held_ones.message = on_message_held;
    held_ones.close = on_close_held;
    must(skua_websocket(server, "GET /usual/{name}", &usual));
    must(skua_websocket(server, "GET /joined/{name}", &joined));
    must(skua_websocket(server, "GET /pinged/{name}", &pinged));
    must(skua_websocket(server, "GET /mortal/{name}", &mortal));
    must(skua_websocket(server, "GET /limited/{name}", &limited));
    must(skua_websocket(server, "GET /held/{name}", &held_ones));
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "site.example" });
    if (!site || skua_site_websocket(site, "GET /usual/{name}", &usual) || skua_site_put(site))
        abort();
}

// Without compression a server without zlib has no such routes.
static void route_deflating(void)
{
    skua_websocket_desc deflating = { .open = on_open,
                                      .message = on_message,
                                      .deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED,
                                      .deflate_octets_min = 1 };
    if (skua_websocket(server, "GET /deflating/{name}", &deflating) == SKUA_EUNSUPPORTED) return;
    deflating.deflate = SKUA_WEBSOCKET_DEFLATE_SHARED;
    must(skua_websocket(server, "GET /shared/{name}", &deflating));
}

int main(int argc, char **argv)
{
    const char *memory = getenv("MEMORY_MAX");
    const skua_config config = { .hosts = "*",
                                 .workers = 1,
                                 .http2 = { .tunnels = true },
                                 .memory_max = memory ? strtoul(memory, NULL, 10) : 0,
                                 .log = getenv("QUIET") ? SKUA_LOG_NONE : SKUA_LOG_SHORT };
    server = server_with_options(&config, argc, argv);
    route_sockets();
    route_deflating();
    must(skua_route(server, "GET /memory", answer_memory, NULL));
    must(skua_route(server, "GET /closes", answer_closes, NULL));
    must(skua_route(server, "POST /send", on_send, NULL));
    must(skua_route(server, "POST /here", on_send_here, NULL));
    must(skua_route(server, "POST /fill", on_fill, NULL));
    must(skua_route(server, "POST /close", on_close_all, NULL));
    must(skua_route(server, "POST /close-here", on_close_here, NULL));
    must(skua_route(server, "POST /publish/{name}", on_publish, NULL));
    return server_serve(server, "parked");
}
