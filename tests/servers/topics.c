// SPDX-License-Identifier: MIT
//
// A server of topics: WebSockets and event streams join them, and messages are published by requests, by sockets and
// by threads. Four workers. STORE=URL in the environment bridges them; RETAINED, WAITING and MESSAGE are numbers of the
// bridge's description, GAP is its text.
#include "options.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static skua_server *server;

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "topics: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// ---- Readers ----

static void on_events(skua_request *request, void *user)
{
    (void)user;
    skua_slice room = skua_request_param(request, "room");
    if (skua_topic_join(request, room) != SKUA_ESTATE) abort(); // it is no event stream yet
    must(skua_events_open(request, NULL, NULL));
    must(skua_topic_join(request, room));
    must(skua_topic_join(request, room)); // once
    if (skua_topic_leave(request, SKUA_SLICE("another")) != SKUA_ENOENT) abort();
    (void)!skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("welcome") });
}

static void on_open(skua_socket socket, skua_request *request, void *user)
{
    (void)user;
    must(skua_socket_join(socket, skua_request_param(request, "room")));
    must(skua_socket_text(socket, SKUA_SLICE("welcome")));
}

static skua_status join_many(skua_socket socket, unsigned count)
{
    char name[20];
    skua_status status = SKUA_OK;
    for (unsigned i = 0; i < count && !status; i++) {
        int n = snprintf(name, sizeof name, "many %u", i);
        status = skua_socket_join(socket, (skua_slice){ name, (size_t)n });
    }
    return status;
}

// "join NAME", "leave NAME", "many" joins as many topics as are allowed, "bye" publishes and closes; anything else is
// published for the others in the room.
static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)user;
    skua_slice room = skua_request_param(skua_socket_request(socket), "room");
    char answer[40];
    skua_slice name = { message.ptr + 6, message.len > 6 ? message.len - 6 : 0 };
    skua_status status = SKUA_OK;
    if (skua_slice_starts(message, "join  ")) status = skua_socket_join(socket, name);
    else if (skua_slice_starts(message, "leave ")) status = skua_socket_leave(socket, name);
    else if (skua_slice_is(message, "many")) status = join_many(socket, 2000);
    else {
        skua_publication all = { .octets = message, .binary = !text, .except = socket };
        must(skua_topic_publish(server, room, &all));
        if (skua_slice_is(message, "bye")) must(skua_socket_close(socket, 0, SKUA_SLICE("")));
        return;
    }
    int n = snprintf(answer, sizeof answer, "%s", skua_status_text(status));
    must(skua_socket_text(socket, (skua_slice){ answer, (size_t)n }));
}

// ---- Publishers ----

// POST /publish/{room}?event=&id=: publishes the content.
static void on_publish(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status) return;
    skua_publication what = { .octets = content,
                              .event = skua_request_query_param(request, "event"),
                              .id = skua_request_query_param(request, "id"),
                              .binary = skua_request_query_param(request, "binary").len > 0 };
    status = skua_topic_publish(server, skua_request_param(request, "room"), &what);
    skua_respond_text(request, 200, skua_status_text(status));
}

static void collect_publication(skua_request *request, void *user)
{
    (void)user;
    must(skua_content_collect(request, 32 << 20, on_publish, NULL));
}

// POST /named: the content is the length of a topic's name in one octet, the name, and the message.
static void on_named(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status || !content.len) return;
    size_t len = (unsigned char)content.ptr[0];
    if (len >= content.len) len = content.len - 1;
    const skua_publication what = { .octets = { content.ptr + 1 + len, content.len - 1 - len } };
    status = skua_topic_publish(server, (skua_slice){ content.ptr + 1, len }, &what);
    skua_respond_text(request, 200, skua_status_text(status));
}

static void collect_named(skua_request *request, void *user)
{
    (void)user;
    must(skua_content_collect(request, 65536, on_named, NULL));
}

typedef struct flood {
    skua_slice room;
    int64_t count, octets;
    unsigned number;
} flood;

static void *publish_many(void *user)
{
    const flood *f = user;
    char *text = calloc(1, (size_t)f->octets + 40);
    if (!text) abort();
    for (int64_t i = 0; i < f->count; i++) {
        int n = snprintf(text, 40, "%u %lld ", f->number, (long long)i);
        size_t len = (size_t)n > (size_t)f->octets ? (size_t)n : (size_t)f->octets;
        memset(text + n, 'x', len - (size_t)n);
        skua_status status;
        do {
            status =
                skua_topic_publish(server, f->room, &(skua_publication){ .octets = { text, len } });
        } while (status == SKUA_ELIMIT);
        must(status);
    }
    free(text);
    return NULL;
}

// POST /flood/{room}?threads=&count=&octets=: so many threads publish so many messages each, "number message xxx".
static void on_flood(skua_request *request, void *user)
{
    enum { THREADS_MAX = 8 };
    pthread_t threads[THREADS_MAX];
    flood floods[THREADS_MAX];
    int64_t count = 0, number = 1, octets = 0;
    (void)user;
    if (!skua_request_query_i64(request, "threads", 1, 0, 100000, &number)) return;
    if (!skua_request_query_i64(request, "count", 1, 0, 100000, &count)) return;
    if (!skua_request_query_i64(request, "octets", 0, 0, 100000, &octets)) return;
    for (unsigned i = 0; i < number && i < THREADS_MAX; i++) {
        floods[i] = (flood){ skua_request_param(request, "room"), count, octets, i };
        if (pthread_create(&threads[i], NULL, publish_many, &floods[i])) abort();
    }
    for (unsigned i = 0; i < number && i < THREADS_MAX; i++)
        if (pthread_join(threads[i], NULL)) abort();
    skua_respond_text(request, 200, "done");
}

static void tell_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)reason, (void)user;
    if (skua_socket_join(socket, SKUA_SLICE("too late")) == SKUA_OK) abort();
    (void)printf("closed %u\n", code);
}

// ---- Other machines ----

static void tell_gap(skua_server *of, void *user)
{
    (void)user;
    if (of != server) abort();
    (void)printf("gap\n");
    (void)fflush(stdout);
}

static uint64_t number_from(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void bridge_topics(void)
{
    const skua_topic_bridge_desc desc = { .url = getenv("STORE"),
                                          .stream = getenv("STREAM"),
                                          .retained_max = number_from("RETAINED"),
                                          .waiting_octets_max = number_from("WAITING"),
                                          .message_octets_max = number_from("MESSAGE"),
                                          .gap_text = getenv("GAP"),
                                          .gap = tell_gap };
    if (!desc.url) return;
    skua_status status = skua_topic_bridge(server, &desc);
    if (!status && skua_topic_bridge(server, &desc) != SKUA_EEXIST) abort();
    if (!status) return;
    (void)fprintf(stderr, "topics: %s\n", skua_server_error(server));
    exit(3);
}

int main(int argc, char **argv)
{
    const skua_config config = {
        .hosts = "*", .workers = 4, .http2 = { .tunnels = true }, .log = SKUA_LOG_SHORT
    };
    server = server_with_options(&config, argc, argv);
    skua_websocket_desc live = { .open = on_open,
                                 .message = on_message,
                                 .close = tell_close,
                                 .close_timeout_ns = 500000000,
                                 .keeps_request = true };
    must(skua_websocket(server, "GET /live/{room}", &live));
    live.slow = SKUA_WEBSOCKET_DROP;
    must(skua_websocket(server, "GET /drop/{room}", &live));
    live.slow = SKUA_WEBSOCKET_CLOSE;
    must(skua_websocket(server, "GET /close/{room}", &live));
    must(skua_route(server, "GET /events/{room}", on_events, NULL));
    must(skua_route(server, "POST /publish/{room}", collect_publication, NULL));
    must(skua_route(server, "POST /named", collect_named, NULL));
    must(skua_route_blocking(server, "POST /flood/{room}", on_flood, NULL));
    must(skua_route(server, "GET /stats", skua_respond_stats, NULL));
    bridge_topics();
    return server_serve(server, "topics");
}
