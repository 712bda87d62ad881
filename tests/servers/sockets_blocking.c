// SPDX-License-Identifier: MIT
//
// The routes of sockets.c whose sockets are served by blocking functions.
#include "sockets.h"

#include "pieces.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// Each message is echoed, with what the request asked for in front of a text.
static void block_on_echoes(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    skua_message message;
    char text[200];
    skua_slice room = skua_request_param(request, "room");
    skua_status responded = skua_respond_text(request, 200, "");
    if (responded != SKUA_ESTATE && responded != SKUA_ECLOSED) abort();
    while (skua_socket_receive(socket, -1, &message) == SKUA_OK) {
        if (skua_slice_is(message.octets, "return")) return;
        if (skua_slice_is(message.octets, "bye"))
            must(skua_socket_close(socket, 4010, SKUA_SLICE("bye")));
        if (message.text && message.octets.len < 100) {
            int n = snprintf(text, sizeof text, "%" SKUA_FMT ": %" SKUA_FMT, SKUA_ARG(room),
                             SKUA_ARG(message.octets));
            must(skua_socket_text(socket, (skua_slice){ text, (size_t)n }));
        } else {
            must(skua_socket_binary(socket, message.octets));
        }
    }
    if (skua_socket_receive(socket, 0, &message) != SKUA_ECLOSED) abort();
    if (skua_socket_text(socket, SKUA_SLICE("x")) != SKUA_ECLOSED) abort();
    tell_close_of(skua_request_path(request), message.code, message.octets);
}

// Says how often it has waited in vain.
static void block_with_patience(skua_socket socket, skua_request *request, void *user)
{
    (void)request, (void)user;
    skua_message message;
    skua_status status;
    int times = 0;
    char text[16];
    while ((status = skua_socket_receive(socket, times % 2 ? 0 : 20000000, &message)) ==
           SKUA_ENOENT) {
        int n = snprintf(text, sizeof text, "%d", ++times);
        if (times <= 3) must(skua_socket_text(socket, (skua_slice){ text, (size_t)n }));
    }
    if (status) return;
    while (skua_socket_receive(socket, INT64_MAX, &message) == SKUA_OK) {
    }
}

// Sends until the socket is closed, and takes nothing.
static void block_and_pour(skua_socket socket, skua_request *request, void *user)
{
    static char piece[PIECE];
    (void)user;
    for (int i = 0;; i++) {
        (void)snprintf(piece, sizeof piece, "%d", i);
        skua_status status = skua_socket_binary(socket, (skua_slice){ piece, sizeof piece });
        if (status == SKUA_ECLOSED) break;
        must(status);
        if (i == 299) must(skua_socket_text(socket, SKUA_SLICE("all")));
    }
    skua_message message;
    while (skua_socket_receive(socket, -1, &message) == SKUA_OK) {
    }
    tell_close_of(skua_request_path(request), message.code, message.octets);
}

// Takes nothing until GET /wake, and then all that has come, whose sum it says. With user it closes the socket first.
static pthread_mutex_t waking = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static bool is_woken;

static void block_asleep(skua_socket socket, skua_request *request, void *user)
{
    (void)request;
    skua_message message;
    uint64_t octets = 0;
    char text[32];
    (void)pthread_mutex_lock(&waking);
    while (!is_woken)
        (void)pthread_cond_wait(&woken, &waking);
    (void)pthread_mutex_unlock(&waking);
    if (user) must(skua_socket_close(socket, 4011, SKUA_SLICE("enough")));
    while (skua_socket_receive(socket, -1, &message) == SKUA_OK && message.octets.len)
        octets += message.octets.len;
    int n = snprintf(text, sizeof text, "%" PRIu64, octets);
    if (!user) must(skua_socket_text(socket, (skua_slice){ text, (size_t)n }));
}

static void wake_up(skua_request *request, void *user)
{
    (void)user;
    (void)pthread_mutex_lock(&waking);
    is_woken = true;
    (void)pthread_cond_broadcast(&woken);
    (void)pthread_mutex_unlock(&waking);
    must(skua_respond_text(request, 200, ""));
}

void route_blocking(skua_server *server)
{
    const skua_websocket_desc echoes = { .blocking = block_on_echoes };
    const skua_websocket_desc patient = { .blocking = block_with_patience };
    const skua_websocket_desc dropping = { .blocking = block_and_pour,
                                           .slow = SKUA_WEBSOCKET_DROP };
    const skua_websocket_desc asleep = { .blocking = block_asleep };
    const skua_websocket_desc leaving = { .blocking = block_asleep,
                                          .user = server,
                                          .close_timeout_ns = 60000000000 };
    const skua_websocket_desc both = { .blocking = block_asleep, .message = echo_message };
    must(skua_websocket(server, "GET /blocking/{room}", &echoes));
    must(skua_websocket(server, "GET /patient", &patient));
    must(skua_websocket(server, "GET /blocking-pour", &dropping));
    must(skua_websocket(server, "GET /asleep", &asleep));
    must(skua_websocket(server, "GET /asleep/leaving", &leaving));
    if (skua_websocket(server, "GET /both", &both) != SKUA_EINVAL) abort();
    must(skua_route(server, "GET /wake", wake_up, NULL));
}
