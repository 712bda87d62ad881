// SPDX-License-Identifier: MIT
//
// A server of sockets that close themselves, and say in which order they learn of it: GET /told has a line for each
// thing that was. One worker.
#include "options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
static char told[65536];
static size_t told_len;

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "closes: unexpected status: %s\n", skua_status_text(status));
    abort();
}

static void tell(const char *what, unsigned code, skua_slice reason)
{
    (void)pthread_mutex_lock(&told_lock);
    int n = snprintf(told + told_len, sizeof told - told_len, "%s %u %" SKUA_FMT "\n", what, code,
                     SKUA_ARG(reason));
    if (n > 0 && (size_t)n < sizeof told - told_len) told_len += (size_t)n;
    (void)pthread_mutex_unlock(&told_lock);
}

static void answer_told(skua_request *request, void *user)
{
    (void)user;
    (void)pthread_mutex_lock(&told_lock);
    must(skua_respond(request, 200, "text/plain", (skua_slice){ told, told_len }));
    (void)pthread_mutex_unlock(&told_lock);
}

// ---- On the worker ----

static bool is_inside; // of skua_socket_close

static void close_it(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    is_inside = true;
    must(skua_socket_close(socket, 4001, SKUA_SLICE("bye")));
    if (skua_socket_text(socket, SKUA_SLICE("behind it")) != SKUA_ECLOSED) abort();
    is_inside = false;
}

static void on_closing(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)user;
    if (is_inside || skua_socket_request(socket)) abort();
    if (skua_socket_text(socket, SKUA_SLICE("too late")) != SKUA_ECLOSED) abort();
    tell("closing", code, reason);
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)socket, (void)user;
    tell("close", code, reason);
}

// ---- In a blocking function ----

// A send has said that it is closed, and so does a receive that does not wait.
static void block_and_close(skua_socket socket, skua_request *request, void *user)
{
    (void)request, (void)user;
    skua_message message = { 0 };
    if (skua_socket_receive(socket, -1, &message)) return;
    must(skua_socket_close(socket, 4012, SKUA_SLICE("mine")));
    if (skua_socket_text(socket, SKUA_SLICE("x")) != SKUA_ECLOSED) abort();
    if (skua_socket_receive(socket, 0, &message) != SKUA_ECLOSED) abort();
    tell("blocking", message.code, message.octets);
}

int main(int argc, char **argv)
{
    const skua_config config = { .hosts = "*", .workers = 1, .log = SKUA_LOG_SHORT };
    skua_server *server = server_with_options(&config, argc, argv);
    skua_websocket_desc desc = { .message = close_it,
                                 .closing = on_closing,
                                 .close = on_close,
                                 .close_timeout_ns = 30000000000 };
    must(skua_websocket(server, "GET /closes", &desc));
    desc.close_timeout_ns = 300000000;
    must(skua_websocket(server, "GET /unanswered", &desc));
    desc.close_timeout_ns = 30000000000;
    desc.lifetime_ns = 200000000;
    must(skua_websocket(server, "GET /briefly", &desc));
    const skua_websocket_desc blocking = { .blocking = block_and_close };
    must(skua_websocket(server, "GET /blocking", &blocking));
    must(skua_route(server, "GET /told", answer_told, NULL));
    return server_serve(server, "closes");
}
