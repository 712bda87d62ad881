// SPDX-License-Identifier: MIT
//
// The server of the conformance suites: every method and path is answered 200 once the whole
// content has been read. POST and PUT get the decoded content back, /echo lists the request's
// fields, /cookie its cookies. /ws is a WebSocket that echoes, and compresses where zlib is built in; /ws/fourfold
// echoes each message in several ways.

#include "options.h"

#include <string.h>

enum { CONTENT_OCTETS_MAX = 16 << 20 };

// How an answer is made from a request and its content.
typedef void answer_fn(skua_request *request, skua_slice content);

typedef struct page {
    const char *pattern;
    answer_fn *answer;
} page;

// Fields and cookies are walked over by functions of this form.
typedef bool pair_at_fn(const skua_request *request, size_t index, skua_field *pair);

// An answer that fails, for lack of memory or because the peer is gone, has closed the connection.
static void finish(skua_status status)
{
    (void)status;
}

static bool is_method(const skua_request *request, const char *name)
{
    skua_slice method = skua_request_method(request);
    return method.len == strlen(name) && memcmp(method.ptr, name, method.len) == 0;
}

static void answer_content(skua_request *request, skua_slice content)
{
    bool echoes = is_method(request, "POST") || is_method(request, "PUT");
    finish(skua_respond(request, 200, "text/plain", echoes ? content : SKUA_SLICE("OK\n")));
}

static char *append(char *at, skua_slice text)
{
    if (text.len) memcpy(at, text.ptr, text.len);
    return at + text.len;
}

static void answer_pairs(skua_request *request, pair_at_fn *pair_at, skua_slice between)
{
    skua_field pair;
    size_t octets = 0;
    for (size_t i = 0; pair_at(request, i, &pair); i++) {
        octets += pair.name.len + between.len + pair.value.len + 1;
    }
    char *list = skua_request_alloc(request, octets + 1), *at = list;
    if (!list) {
        finish(skua_respond_error(request, 503));
        return;
    }
    for (size_t i = 0; pair_at(request, i, &pair); i++) {
        at = append(append(append(at, pair.name), between), pair.value);
        *at++ = '\n';
    }
    skua_slice content = { list, (size_t)(at - list) };
    finish(skua_respond(request, 200, "text/plain", content));
}

static void answer_fields(skua_request *request, skua_slice content)
{
    (void)content;
    answer_pairs(request, skua_request_field_at, SKUA_SLICE(": "));
}

static void answer_cookies(skua_request *request, skua_slice content)
{
    (void)content;
    answer_pairs(request, skua_request_cookie_at, SKUA_SLICE("="));
}

static void collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    const page *asked = user;
    if (status == SKUA_OK) asked->answer(request, content);
}

static void handle(skua_request *request, void *user)
{
    if (skua_content_collect(request, CONTENT_OCTETS_MAX, collected, user)) {
        finish(skua_respond_error(request, 500));
    }
}

// A client that sends more without reading than may be queued is not served on.
static void echo_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    skua_status status =
        text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message);
    if (status == SKUA_ELIMIT) finish(skua_socket_close(socket, 1013, SKUA_SLICE("")));
}

// As it came, twice; as the other kind; and without its first octet.
static void echo_message_fourfold(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++)
        finish(text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message));
    finish(text ? skua_socket_binary(socket, message) : skua_socket_text(socket, message));
    finish(skua_socket_binary(socket, (skua_slice){ message.ptr + 1, message.len - 1 }));
}

int main(int argc, char **argv)
{
    // Room for what the suites send: 16 MiB in fragments of 64 octets.
    skua_websocket_desc echoes = { .message = echo_message,
                                   .deflate = SKUA_WEBSOCKET_DEFLATE_DEDICATED,
                                   .deflate_window_bits = 15,
                                   .origins = "*",
                                   .message_octets_max = 32 << 20,
                                   .queued_octets_max = 64 << 20,
                                   .fragments_max = 1 << 20,
                                   .messages_per_second_max = UINT32_MAX };
    static page pages[] = {
        { "/", answer_content },
        { "/echo", answer_fields },
        { "/cookie", answer_cookies },
    };
    const skua_config config = { .hosts = "*", .http2 = { .tunnels = true } };
    skua_server *server = server_with_options(&config, argc, argv);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (skua_route(server, pages[i].pattern, handle, &pages[i])) return 1;
    }
    skua_status status = skua_websocket(server, "GET /ws", &echoes);
    if (status == SKUA_EUNSUPPORTED) {
        echoes.deflate = SKUA_WEBSOCKET_DEFLATE_OFF;
        status = skua_websocket(server, "GET /ws", &echoes);
    }
    if (status) return 1;
    const skua_websocket_desc fourfold = { .message = echo_message_fourfold,
                                           .keeps_request = true };
    finish(skua_websocket(server, "GET /ws/fourfold", &fourfold));
    return server_serve(server, "echo");
}
