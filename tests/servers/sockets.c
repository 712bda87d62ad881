// SPDX-License-Identifier: MIT
//
// A server of WebSockets: echoes, limits at small numbers, slow readers, senders on other threads,
// deadlines. GET /closes tells how sockets have ended. With SOCKETS_HASTY set, the server's times are a
// second, and its memory is little; with SOCKETS_QUEUE, the queue of a connection is long.
#include "options.h"
#include "pieces.h"
#include "sockets.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- How sockets have ended ----

static char closes[65536];
static size_t closes_len;
static pthread_mutex_t closes_lock = PTHREAD_MUTEX_INITIALIZER;

static skua_ticket browser; // of the request for the image, while it is held
static bool browser_waits, browser_has_closed;

static void answer_image(skua_request *request, void *user)
{
    (void)user;
    if (request) must(skua_respond_error(request, 404));
}

// GET /image: answered when the browser's socket has closed, so that its page loads as long.
static void hold_image(skua_request *request, void *user)
{
    (void)user;
    if (browser_has_closed) answer_image(request, NULL);
    else must(skua_ticket_take(request, &browser));
    browser_waits = !browser_has_closed;
}

static const char page[] =
    "<!doctype html><body></body><script>\n"
    "const said = [], socket = new WebSocket(`ws://${location.host}/echo/browser`, ['v1.example'])\n"
    "socket.binaryType = 'arraybuffer'\n"
    "socket.onmessage = e => {\n"
    "  said.push(typeof e.data == 'string' ? e.data.length : 'octets:' + e.data.byteLength)\n"
    "  document.body.textContent = `${socket.protocol} ${said}`\n"
    "  if (said.length == 1) { socket.send('\u00e9'.repeat(50)); socket.send(new Uint8Array(70000)) }\n"
    "  if (said.length == 3) socket.close(4005, 'done')\n"
    "}\n"
    "</script><img src=\"/image\">\n";

static void answer_page(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond_html(request, 200, page));
}

static void read_nothing(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    (void)request, (void)event, (void)octets, (void)user;
    abort();
}

void tell_close_of(skua_slice path, unsigned code, skua_slice reason)
{
    (void)pthread_mutex_lock(&closes_lock);
    int n = snprintf(closes + closes_len, sizeof closes - closes_len,
                     "%" SKUA_FMT " %u %" SKUA_FMT "\n", SKUA_ARG(path), code, SKUA_ARG(reason));
    if (n > 0 && (size_t)n < sizeof closes - closes_len) closes_len += (size_t)n;
    (void)pthread_mutex_unlock(&closes_lock);
}

static void tell_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)user;
    skua_slice path = skua_request_path(skua_socket_request(socket));
    if (skua_slice_is(path, "/echo/browser")) {
        browser_has_closed = true;
        if (browser_waits) must(skua_resume(browser, answer_image, NULL));
    }
    must(skua_socket_text(socket, SKUA_SLICE("too late"))); // is refused
    if (skua_content_read(skua_socket_request(socket), read_nothing, NULL) == SKUA_OK) abort();
    tell_close_of(path, code, reason);
}

static void answer_closes(skua_request *request, void *user)
{
    (void)user;
    (void)pthread_mutex_lock(&closes_lock);
    skua_status status =
        skua_respond(request, 200, "text/plain", (skua_slice){ closes, closes_len });
    (void)pthread_mutex_unlock(&closes_lock);
    must(status);
}

// ---- Messages ----

void echo_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    skua_status status =
        text ? skua_socket_text(socket, message) : skua_socket_binary(socket, message);
    if (status != SKUA_ELIMIT) must(status);
}

// The greeting has the parameter of the pattern and the protocol. The octets of its tunnel are the library's.
static void greet(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    char text[200];
    skua_slice protocol = skua_socket_protocol(socket);
    skua_slice room = skua_request_param(request, "room");
    int n = snprintf(text, sizeof text, "%" SKUA_FMT " speaks %" SKUA_FMT, SKUA_ARG(room),
                     SKUA_ARG(protocol));
    must(skua_socket_text(socket, (skua_slice){ text, (size_t)n }));
    if (skua_write(request, SKUA_SLICE("no frame")) != SKUA_ESTATE) abort();
    if (skua_write_room(request) != 0 || skua_finish(request) != SKUA_ESTATE) abort();
    if (skua_content_read(request, read_nothing, NULL) != SKUA_ESTATE) abort();
}

static void say_bye(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    must(skua_socket_binary(socket, SKUA_SLICE("last")));
    must(skua_socket_close(socket, 4001, SKUA_SLICE("bye")));
    if (skua_socket_binary(socket, SKUA_SLICE("behind the close")) != SKUA_ECLOSED) abort();
    if (skua_socket_close(socket, 0, SKUA_SLICE("")) != SKUA_ECLOSED) abort();
}

static void abort_request(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    skua_request_abort(skua_socket_request(socket));
}

static void close_at_once(skua_socket socket, skua_request *request, void *user)
{
    (void)request;
    (void)user;
    must(skua_socket_close(socket, 4002, SKUA_SLICE("full")));
}

// Pages of a host that the request's query names.
static bool may_open(skua_request *request, skua_slice origin, void *user)
{
    (void)user;
    skua_slice host = skua_request_query_param(request, "host");
    const size_t scheme = sizeof "https://" - 1;
    if (skua_slice_is(origin, "null")) return skua_slice_is(host, "null");
    return origin.len == scheme + host.len && memcmp(origin.ptr + scheme, host.ptr, host.len) == 0;
}

// ---- Slow readers ----

enum { PIECES = 300 };

// Numbered pieces until one is refused. pouring: how many are left, kept with the connection.
static void pour(skua_socket socket)
{
    static char piece[PIECE];
    skua_connection *connection = skua_request_connection(skua_socket_request(socket));
    size_t *left = skua_connection_get(connection);
    while (*left > 0) {
        (void)snprintf(piece, sizeof piece, "%zu", PIECES - *left);
        skua_status status = skua_socket_binary(socket, (skua_slice){ piece, sizeof piece });
        if (status == SKUA_ELIMIT || status == SKUA_ECLOSED) return;
        must(status);
        --*left;
    }
    if (skua_socket_text(socket, SKUA_SLICE("all")) == SKUA_OK) return;
}

// Pours until it is refused, and closes behind that. The reason has the number of those that were taken.
static void pour_and_close(skua_socket socket, skua_slice message, bool text, void *user)
{
    static char piece[PIECE];
    (void)message;
    (void)text;
    (void)user;
    int taken = 0;
    skua_status status = SKUA_OK;
    while (!status) {
        (void)snprintf(piece, sizeof piece, "%d", taken);
        status = skua_socket_binary(socket, (skua_slice){ piece, sizeof piece });
        taken += !status;
    }
    if (status != SKUA_ELIMIT) abort();
    int n = snprintf(piece, sizeof piece, "%d", taken);
    must(skua_socket_close(socket, 4007, (skua_slice){ piece, (size_t)n }));
}

static void begin_pouring(skua_socket socket, skua_request *request, void *user)
{
    (void)socket;
    (void)user;
    size_t *left = malloc(sizeof *left);
    if (!left) abort();
    *left = PIECES;
    skua_connection_set(skua_request_connection(request), left);
}

static void on_pour(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    pour(socket);
}

// Pours whenever there is room, until it is told to stop.
static bool endless = true;

static void pour_endlessly(skua_socket socket, void *user)
{
    static char piece[PIECE];
    (void)user;
    while (endless && skua_socket_binary(socket, (skua_slice){ piece, sizeof piece }) == SKUA_OK)
        continue;
}

static void on_endless(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)text;
    endless = !skua_slice_is(message, "stop");
    if (endless) pour_endlessly(socket, user);
    else must(skua_socket_text(socket, SKUA_SLICE("stopped")));
}

static void on_drain(skua_socket socket, void *user)
{
    (void)user;
    pour(socket);
}

static void end_pouring(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    skua_connection *connection = skua_request_connection(skua_socket_request(socket));
    if (connection) {
        free(skua_connection_get(connection));
        skua_connection_set(connection, NULL);
    }
    tell_close(socket, code, reason, user);
}

// ---- Other threads ----

// The statuses that a thread gets, joined by the worker: what it sends lies there as letters meanwhile.
typedef struct thread_talk {
    skua_socket socket;
    skua_status first, second, third;
    unsigned taken;
} thread_talk;

static void talk(thread_talk *t, void *(*run)(void *user))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, t) || pthread_join(thread, NULL)) abort();
}

static void *say_late(void *user)
{
    thread_talk *t = user;
    t->first = skua_socket_text(t->socket, SKUA_SLICE("too late"));
    t->second = skua_socket_close(t->socket, 1000, SKUA_SLICE(""));
    return NULL;
}

// The worker has begun to close.
static void close_then_talk(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    thread_talk t = { .socket = socket };
    must(skua_socket_close(socket, 4004, SKUA_SLICE("closing")));
    talk(&t, say_late);
    if (t.first != SKUA_ECLOSED || t.second != SKUA_ECLOSED) abort();
}

static void *close_there(void *user)
{
    thread_talk *t = user;
    char reason[150];
    for (size_t i = 0; i < sizeof reason; i += 2)
        memcpy(reason + i, "\xc3\xa9", 2);
    t->first = skua_socket_close(t->socket, 4005, (skua_slice){ reason, sizeof reason });
    t->second = skua_socket_text(t->socket, SKUA_SLICE("behind"));
    t->third = skua_socket_close(t->socket, 4006, SKUA_SLICE("again"));
    return NULL;
}

// The worker does not know yet that the thread has closed.
static void talk_then_send(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    thread_talk t = { .socket = socket };
    talk(&t, close_there);
    if (t.first || t.second != SKUA_ECLOSED || t.third != SKUA_ECLOSED) abort();
    must(skua_socket_text(socket, SKUA_SLICE("before the close")));
}

enum { BURST = 60 };

// More than may be queued, at once, and less than four times as much.
static void *send_burst(void *user)
{
    static char piece[PIECE];
    thread_talk *t = user;
    for (int i = 0; i < BURST; i++) {
        (void)snprintf(piece, sizeof piece, "%d", i);
        if (skua_socket_binary(t->socket, (skua_slice){ piece, sizeof piece })) abort();
    }
    must(skua_socket_text(t->socket, SKUA_SLICE("all")));
    return NULL;
}

static void burst(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    thread_talk t = { .socket = socket };
    talk(&t, send_burst);
}

// Messages of one octet, until one is refused. The answer says how many were taken.
static void *send_octets(void *user)
{
    thread_talk *t = user;
    while (!(t->first = skua_socket_binary(t->socket, SKUA_SLICE("x"))))
        t->taken++;
    return NULL;
}

static void flood_with_octets(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message, (void)text, (void)user;
    thread_talk t = { .socket = socket };
    char answer[16];
    talk(&t, send_octets);
    if (t.first != SKUA_ELIMIT) abort();
    int n = snprintf(answer, sizeof answer, "%u", t.taken);
    must(skua_socket_text(socket, (skua_slice){ answer, (size_t)n }));
}

static void *send_numbers(void *user)
{
    skua_socket socket = *(skua_socket *)user;
    free(user);
    char text[16];
    for (int i = 0; i < 1000; i++) {
        int n = snprintf(text, sizeof text, "%d", i);
        skua_status status;
        do {
            status = skua_socket_text(socket, (skua_slice){ text, (size_t)n });
        } while (status == SKUA_ELIMIT);
        if (status) return NULL;
    }
    must(skua_socket_close(socket, 4003, SKUA_SLICE("counted")));
    return NULL;
}

static void start_thread(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)message;
    (void)text;
    (void)user;
    pthread_t thread;
    skua_socket *copy = malloc(sizeof *copy);
    if (!copy) abort();
    *copy = socket;
    if (pthread_create(&thread, NULL, send_numbers, copy)) abort();
    (void)pthread_detach(thread);
}

// ---- Messages in pieces ----

// Sent by the worker: numbered pieces, as many as the message says, and the end. What is left is kept with
// the connection.
static void send_pieces(skua_socket socket)
{
    static char piece[PIECE];
    size_t *left = skua_connection_get(skua_request_connection(skua_socket_request(socket)));
    while (*left > 0) {
        (void)snprintf(piece, sizeof piece, "%zu", *left);
        skua_status status = skua_socket_write(socket, (skua_slice){ piece, sizeof piece });
        if (status == SKUA_ELIMIT || status == SKUA_ECLOSED) return;
        must(status);
        if (--*left == 0) must(skua_socket_end(socket));
    }
}

static void *say_between(void *user)
{
    const thread_talk *t = user;
    must(skua_socket_text(t->socket, SKUA_SLICE("of another thread")));
    return NULL;
}

static void begin_pieces(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    size_t *left = skua_connection_get(skua_request_connection(skua_socket_request(socket)));
    skua_status again = SKUA_ESTATE;
    thread_talk t = { .socket = socket };
    if (skua_socket_write(socket, message) != again || skua_socket_end(socket) != again) abort();
    must(skua_socket_begin(socket, text));
    if (skua_socket_begin(socket, text) != again || skua_socket_text(socket, message) != again)
        abort();
    if (text) return; // say_pieces goes on
    talk(&t, say_between);
    must(skua_topic_publish(user, SKUA_SLICE("pieces"),
                            &(skua_publication){ .octets = SKUA_SLICE("of a topic") }));
    *left = (size_t)message.len;
    send_pieces(socket);
}

// Texts: the octets of a message, one by one; "!" for none at all, "?" for an end within a character, "close" in
// the middle.
static void say_pieces(skua_socket socket, skua_slice message, bool text, void *user)
{
    if (!text) {
        begin_pieces(socket, message, text, user);
        return;
    }
    must(skua_socket_begin(socket, true));
    if (skua_slice_is(message, "!")) message.len = 0;
    if (skua_slice_is(message, "?")) {
        must(skua_socket_write(socket, SKUA_SLICE("\xc3")));
        if (skua_socket_end(socket) != SKUA_EINVAL) abort();
        if (skua_socket_write(socket, SKUA_SLICE("\xc3")) != SKUA_EINVAL) abort();
        message = SKUA_SLICE("\xa9");
    }
    if (skua_slice_is(message, "close")) {
        must(skua_socket_write(socket, message));
        must(skua_socket_close(socket, 4009, SKUA_SLICE("unfinished")));
        if (skua_socket_write(socket, message) != SKUA_ECLOSED) abort();
        if (skua_socket_end(socket) != SKUA_ECLOSED) abort();
        return;
    }
    for (size_t i = 0; i < message.len; i++)
        must(skua_socket_write(socket, (skua_slice){ message.ptr + i, 1 }));
    must(skua_socket_write(socket, SKUA_SLICE("")));
    must(skua_socket_end(socket));
}

static void join_pieces(skua_socket socket, skua_request *request, void *user)
{
    begin_pouring(socket, request, user);
    must(skua_socket_join(socket, SKUA_SLICE("pieces")));
}

static void on_pieces_drain(skua_socket socket, void *user)
{
    (void)user;
    send_pieces(socket);
}

// Received: what came of a message, told when it has ended. With "hold" in the query nothing is given back until
// GET /give.
typedef struct sink {
    uint64_t octets, sum, pieces, held;
} sink;

static sink poured;
static skua_socket holder;

static bool holds(skua_socket socket)
{
    return skua_slice_is(skua_request_query(skua_socket_request(socket)), "hold");
}

static void on_piece(skua_socket socket, skua_message_event event, skua_slice octets, bool text,
                     void *user)
{
    (void)user;
    char line[100];
    switch (event) {
    case SKUA_MESSAGE_BEGIN: poured = (sink){ 0 }; return;
    case SKUA_MESSAGE_DATA:
        poured.octets += octets.len;
        poured.pieces++;
        for (size_t i = 0; i < octets.len; i++)
            poured.sum += (unsigned char)octets.ptr[i];
        holder = socket;
        if (holds(socket)) poured.held += octets.len;
        else skua_socket_consume(socket, octets.len);
        return;
    case SKUA_MESSAGE_END: break;
    }
    int n = snprintf(line, sizeof line, "%s %" PRIu64 " %" PRIu64, text ? "text" : "binary",
                     poured.octets, poured.sum);
    must(skua_socket_text(socket, (skua_slice){ line, (size_t)n }));
}

// How many octets the program has been given of what comes.
static void tell_poured(skua_request *request, void *user)
{
    (void)user;
    char line[50];
    (void)snprintf(line, sizeof line, "%" PRIu64, poured.octets);
    must(skua_respond_text(request, 200, line));
}

static void give_back(skua_request *request, void *user)
{
    skua_socket_consume(holder, poured.held);
    poured.held = 0;
    tell_poured(request, user);
}

// ---- Pausing: a message "pause" is the last that is echoed until GET /unpause ----

static skua_socket pausing;

static void echo_until_paused(skua_socket socket, skua_slice message, bool text, void *user)
{
    echo_message(socket, message, text, user);
    if (!skua_slice_is(message, "pause")) return;
    pausing = socket;
    skua_socket_pause(socket);
    skua_socket_pause(socket); // once is as good
}

static void unpause(skua_request *request, void *user)
{
    (void)user;
    skua_socket_resume(pausing);
    must(skua_respond_text(request, 200, ""));
}

static void route_pauses(skua_server *server)
{
    const skua_websocket_desc pauses = {
        .message = echo_until_paused, .close = tell_close, .ping_ns = -1, .keeps_request = true
    };
    skua_websocket_desc briefly = pauses;
    briefly.idle_timeout_ns = 1500000000;
    must(skua_websocket(server, "GET /paused", &pauses));
    must(skua_websocket(server, "GET /paused/briefly", &briefly));
    must(skua_route(server, "GET /unpause", unpause, NULL));
}

static void route_pieces(skua_server *server)
{
    const skua_websocket_desc sends = { .open = join_pieces,
                                        .message = say_pieces,
                                        .drain = on_pieces_drain,
                                        .close = end_pouring,
                                        .user = server,
                                        .keeps_request = true };
    skua_websocket_desc drops = sends, ends = sends;
    drops.slow = SKUA_WEBSOCKET_DROP;
    ends.slow = SKUA_WEBSOCKET_CLOSE;
    ends.close_timeout_ns = 300000000;
    must(skua_websocket(server, "GET /pieces", &sends));
    must(skua_websocket(server, "GET /pieces-drop", &drops));
    must(skua_websocket(server, "GET /pieces-close", &ends));
    const skua_websocket_desc takes = { .receive = on_piece,
                                        .close = tell_close,
                                        .keeps_request = true };
    const skua_websocket_desc few = { .receive = on_piece,
                                      .close = tell_close,
                                      .message_octets_max = 1000,
                                      .fragments_max = 4,
                                      .messages_per_second_max = 50,
                                      .keeps_request = true };
    const skua_websocket_desc both = { .receive = on_piece,
                                       .message = echo_message,
                                       .keeps_request = true };
    const skua_websocket_desc echoes = { .receive = echo_piece,
                                         .close = tell_close,
                                         .keeps_request = true };
    must(skua_websocket(server, "GET /sink", &takes));
    must(skua_websocket(server, "GET /sink-small", &few));
    must(skua_websocket(server, "GET /echo-pieces", &echoes));
    if (skua_websocket(server, "GET /both", &both) != SKUA_EINVAL) abort();
    must(skua_route(server, "GET /poured", tell_poured, NULL));
    must(skua_route(server, "GET /give", give_back, NULL));
}

// ---- Routes ----

static void refuse(skua_request *request, void *user)
{
    (void)user;
    must(skua_refuse(request, 401, SKUA_SLICE("Not you.")));
}

static void route_all(skua_server *server)
{
    static const int64_t ms = 1000000;
    const skua_websocket_desc echoes = { .open = greet,
                                         .message = echo_message,
                                         .close = tell_close,
                                         .protocols = "v2.example v1.example",
                                         .message_octets_max = 200000,
                                         .queued_octets_max = 300000,
                                         .keeps_request = true };
    const skua_websocket_desc small = { .message = echo_message,
                                        .close = tell_close,
                                        .origins = "https://a.example http://b.example:8080",
                                        .message_octets_max = 1000,
                                        .queued_octets_max = 500,
                                        .fragments_max = 4,
                                        .messages_per_second_max = 50,
                                        .keeps_request = true };
    const skua_websocket_desc bye = { .message = say_bye,
                                      .close = tell_close,
                                      .origins = "*",
                                      .close_timeout_ns = 30000 * ms,
                                      .keeps_request = true };
    skua_websocket_desc unanswered = bye;
    unanswered.close_timeout_ns = 300 * ms;
    const skua_websocket_desc full = { .open = close_at_once,
                                       .close = tell_close,
                                       .keeps_request = true };
    const skua_websocket_desc quiet = {
        .close = tell_close, .ping_ns = 100 * ms, .idle_timeout_ns = 600 * ms, .keeps_request = true
    };
    skua_websocket_desc pinged = quiet;
    pinged.idle_timeout_ns = 0;
    const skua_websocket_desc thread = { .message = start_thread,
                                         .close = tell_close,
                                         .keeps_request = true };
    skua_websocket_desc slow = { .open = begin_pouring,
                                 .message = on_pour,
                                 .drain = on_drain,
                                 .close = end_pouring,
                                 .close_timeout_ns = 300 * ms,
                                 .keeps_request = true };
    must(skua_websocket(server, "GET /echo/{room}", &echoes));
    must(skua_websocket(server, "GET /small", &small));
    must(skua_websocket(server, "GET /bye", &bye));
    must(skua_websocket(server, "GET /unanswered", &unanswered));
    must(skua_websocket(server, "GET /full", &full));
    const skua_websocket_desc aborts = { .message = abort_request,
                                         .close = tell_close,
                                         .keeps_request = true };
    must(skua_websocket(server, "GET /aborts", &aborts));
    must(skua_websocket(server, "GET /quiet", &quiet));
    must(skua_websocket(server, "GET /pinged", &pinged));
    must(skua_websocket(server, "GET /thread", &thread));
    must(skua_websocket(server, "GET /refused/echo", &echoes));
    must(skua_websocket(server, "GET /wait", &slow));
    const skua_websocket_desc forever = { .message = echo_message,
                                          .close = tell_close,
                                          .ping_ns = INT64_MAX,
                                          .idle_timeout_ns = INT64_MAX,
                                          .close_timeout_ns = INT64_MAX,
                                          .keeps_request = true };
    const skua_websocket_desc brief = { .message = echo_message,
                                        .close = tell_close,
                                        .origin = may_open,
                                        .lifetime_ns = 400 * ms,
                                        .keeps_request = true };
    must(skua_websocket(server, "GET /brief", &brief));
    const skua_websocket_desc pours = {
        .message = on_endless, .drain = pour_endlessly, .close = tell_close, .keeps_request = true
    };
    must(skua_websocket(server, "GET /endless", &pours));
    skua_websocket_desc other = { .close = tell_close,
                                  .close_timeout_ns = 300 * ms,
                                  .keeps_request = true };
    must(skua_websocket(server, "GET /forever", &forever));
    other.message = close_then_talk;
    must(skua_websocket(server, "GET /close-then-talk", &other));
    other.message = talk_then_send;
    must(skua_websocket(server, "GET /talk-then-send", &other));
    other.message = pour_and_close;
    must(skua_websocket(server, "GET /pour-and-close", &other));
    other.message = flood_with_octets;
    other.queued_octets_max = 100000;
    must(skua_websocket(server, "GET /octets", &other));
    other.queued_octets_max = 0;
    other.message = burst;
    other.slow = SKUA_WEBSOCKET_DROP;
    must(skua_websocket(server, "GET /burst-drop", &other));
    other.slow = SKUA_WEBSOCKET_CLOSE;
    must(skua_websocket(server, "GET /burst-close", &other));
    slow.slow = SKUA_WEBSOCKET_DROP;
    must(skua_websocket(server, "GET /drop", &slow));
    slow.slow = SKUA_WEBSOCKET_CLOSE;
    must(skua_websocket(server, "GET /close", &slow));
    route_pieces(server);
    route_pauses(server);
    route_blocking(server);
    must(skua_route(server, "GET /closes", answer_closes, NULL));
    must(skua_route(server, "GET /image", hold_image, NULL));
    must(skua_route(server, "GET /page", answer_page, NULL));
    must(skua_use(server, "/refused/", &(skua_middleware){ .before = refuse }));
}

// Those of the host site.example: /site/{room} echoes. POST /again puts another such site.
static bool put_site(skua_server *server)
{
    const skua_websocket_desc echoes = {
        .message = echo_message, .close = tell_close, .origins = "*", .keeps_request = true
    };
    skua_site *site = skua_site_new(server, &(skua_site_desc){ .hosts = "site.example" });
    return site && !skua_site_websocket(site, "GET /site/{room}", &echoes) && !skua_site_put(site);
}

static void put_again(skua_request *request, void *user)
{
    must(skua_respond_text(request, put_site(user) ? 200 : 500, ""));
}

int main(int argc, char **argv)
{
    const int64_t hasty_ns = getenv("SOCKETS_HASTY") ? 1000000000 : 0;
    const skua_config config = { .hosts = "*",
                                 .stall_timeout_ns = hasty_ns,
                                 .rate_window_ns = hasty_ns,
                                 .stream_idle_timeout_ns = hasty_ns,
                                 .memory_max = hasty_ns ? 8 << 20 : 0,
                                 .out_octets_max = getenv("SOCKETS_QUEUE") ? 4 << 20 : 0,
                                 .workers = 1,
                                 .blocking_threads = 8,
                                 .log = SKUA_LOG_SHORT,
                                 .http2 = { .tunnels = true },
                                 .trusted = "127.0.0.1",
                                 .forwarded = SKUA_FORWARDED_X };
    skua_server *server = server_with_options(&config, argc, argv);
    route_all(server);
    must(skua_route(server, "POST /again", put_again, server));
    if (!put_site(server)) return 1;
    return server_serve(server, "sockets");
}
