// SPDX-License-Identifier: MIT
//
// The server of the stress tests: a route for each way of reading and of answering, whose handlers
// expect their clients to leave at any moment.
//
//     storm --port N [--workers N] [--backend NAME] [--accept HOW]
//
// The current folder is served under /files/. GET /living tells how many connections and requests
// there are, for a test to see that nothing is left behind.
#include "options.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SECOND_NS = 1000000000,
    CHORE_NS = 1000000,  // between two rounds of the thread that does what is put off
    SPIN_ROUNDS = 20000, // what a handler computes for a piece of content
    SPOOL_MEMORY_OCTETS = 1000,
    LENGTH_MAX = 4 << 20, // of what is answered
    PIECE_OCTETS = 5000,
};

static struct {
    atomic_long connections, requests, posts;
} living;

// Clients leave, and memory may run out; everything else is a fault of this program or of the library.
static void expect(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED || status == SKUA_ENOMEM) return;
    (void)fprintf(stderr, "storm: assertion: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// ---- What is put off ----

// Resumed by a thread of our own some time later. user is memory of the request's.
typedef struct chore {
    struct chore *next;
    skua_ticket ticket;
    skua_resume_fn *fn;
    void *user;
} chore;

static struct {
    pthread_mutex_t lock;
    chore *first;
    bool ends;
    skua_server *server;
    unsigned workers;
    pthread_t thread;
} chores = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void later(skua_request *request, skua_resume_fn *fn, void *user)
{
    chore *c = calloc(1, sizeof *c);
    if (!c) abort();
    expect(skua_ticket_take(request, &c->ticket));
    c->fn = fn;
    c->user = user;
    (void)pthread_mutex_lock(&chores.lock);
    c->next = chores.first;
    chores.first = c;
    (void)pthread_mutex_unlock(&chores.lock);
}

static chore *chores_take(bool *ends)
{
    (void)pthread_mutex_lock(&chores.lock);
    chore *all = chores.first;
    chores.first = NULL;
    *ends = chores.ends;
    (void)pthread_mutex_unlock(&chores.lock);
    return all;
}

static void on_post(skua_worker *worker, void *user)
{
    (void)worker;
    (void)user;
    atomic_fetch_sub(&living.posts, 1);
}

// A letter to each worker, also while the server stops: what is taken must be delivered.
static void post_to_all(void)
{
    for (unsigned i = 0; i < chores.workers; i++) {
        atomic_fetch_add(&living.posts, 1);
        if (skua_post(chores.server, i, on_post, NULL)) atomic_fetch_sub(&living.posts, 1);
    }
}

static void *chores_run(void *user)
{
    (void)user;
    struct timespec rest = { .tv_nsec = CHORE_NS };
    for (bool ends = false; !ends;) {
        for (chore *c = chores_take(&ends), *next; c; c = next) {
            next = c->next;
            expect(skua_resume(c->ticket, c->fn, c->user));
            free(c);
        }
        post_to_all();
        (void)nanosleep(&rest, NULL);
    }
    return NULL;
}

static void chores_begin(skua_server *server)
{
    chores.server = server;
    chores.workers = skua_server_workers(server);
    if (pthread_create(&chores.thread, NULL, chores_run, NULL)) abort();
}

static void chores_end(void)
{
    (void)pthread_mutex_lock(&chores.lock);
    chores.ends = true;
    (void)pthread_mutex_unlock(&chores.lock);
    (void)pthread_join(chores.thread, NULL);
    if (!atomic_load(&living.posts)) return;
    (void)fprintf(stderr, "storm: assertion: a letter that was taken was not delivered\n");
    abort();
}

// ---- What is alive ----

static bool on_connect(skua_connection *connection, void *user)
{
    (void)connection;
    (void)user;
    atomic_fetch_add(&living.connections, 1);
    return true;
}

static void on_close(skua_connection *connection, void *user)
{
    (void)connection;
    (void)user;
    atomic_fetch_sub(&living.connections, 1);
}

static void on_before(skua_request *request, void *user)
{
    (void)user;
    atomic_fetch_add(&living.requests, 1);
    skua_next(request);
}

static void on_after(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)how;
    (void)user;
    atomic_fetch_sub(&living.requests, 1);
}

static void answer_living(skua_request *request, void *user)
{
    (void)user;
    char text[64];
    int len = snprintf(text, sizeof text, "%ld %ld", atomic_load(&living.connections),
                       atomic_load(&living.requests));
    expect(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// ---- Visits ----

// A request's own things, in its memory.
typedef struct visit {
    uint64_t at, len; // of what is answered, or of the content that has come
    size_t owed;      // credit to be given later
    bool waits;       // something is put off
} visit;

static uint64_t param_length(const skua_request *request)
{
    skua_slice digits = skua_request_param(request, "len");
    uint64_t n = 0;
    for (size_t i = 0; i < digits.len && digits.ptr[i] >= '0' && digits.ptr[i] <= '9'; i++)
        n = n < LENGTH_MAX ? n * 10 + (unsigned)(digits.ptr[i] - '0') : n;
    return n < LENGTH_MAX ? n : LENGTH_MAX;
}

static visit *visit_new(skua_request *request)
{
    visit *v = skua_request_alloc(request, sizeof *v);
    if (!v) abort();
    *v = (visit){ .len = param_length(request) };
    return v;
}

static size_t visit_fill(visit *v, char *buffer, size_t room)
{
    size_t n = v->len - v->at < room ? (size_t)(v->len - v->at) : room;
    memset(buffer, 'a' + (int)(v->at % 26), n);
    v->at += n;
    return n;
}

// ---- Answers ----

static void answer_hello(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")));
}

static void wake(skua_request *request, void *user)
{
    (void)user;
    if (request) skua_wake(request);
}

// Says PENDING before each piece but the first.
static skua_pulled pull(skua_request *request, char *buffer, size_t room, size_t *octets,
                        void *user)
{
    visit *v = user;
    if (v->at == v->len) return SKUA_PULL_END;
    v->waits = v->at && !v->waits;
    if (v->waits) {
        later(request, wake, v);
        return SKUA_PULL_PENDING;
    }
    *octets = visit_fill(v, buffer, room);
    return SKUA_PULL_OCTETS;
}

static void answer_pull(skua_request *request, void *user)
{
    (void)user;
    expect(skua_respond_pull(request, 200, "text/plain", -1, pull, visit_new(request)));
}

static void stream_go(skua_request *request, visit *v)
{
    char piece[PIECE_OCTETS];
    while (v->at < v->len) {
        uint64_t before = v->at;
        size_t n = visit_fill(v, piece, sizeof piece);
        skua_status status = skua_write(request, (skua_slice){ piece, n });
        if (status == SKUA_OK) continue;
        v->at = before; // all or nothing
        if (status != SKUA_ELIMIT) expect(status);
        return;
    }
    expect(skua_finish(request));
}

static void stream_drained(skua_request *request, void *user)
{
    stream_go(request, user);
}

static void answer_stream(skua_request *request, void *user)
{
    (void)user;
    visit *v = visit_new(request);
    expect(skua_respond_stream(request, 200, "text/plain", -1, stream_drained, v));
    stream_go(request, v);
}

static void event_more(skua_request *request, void *user)
{
    visit *v = user;
    if (!request) return;
    skua_status status = skua_event_send(request, &(skua_event){ .data = SKUA_SLICE("more") });
    if (status != SKUA_ELIMIT) expect(status);
    if (v->at++ < v->len) later(request, event_more, v);
    else expect(skua_finish(request));
}

static void answer_events(skua_request *request, void *user)
{
    (void)user;
    expect(skua_events_open(request, NULL, NULL));
    later(request, event_more, visit_new(request));
}

// ---- Answers from other threads ----

// Nobody ever answers: only its client's leaving ends it.
static void answer_never(skua_request *request, void *user)
{
    (void)user;
    skua_ticket ticket;
    expect(skua_ticket_take(request, &ticket));
}

static void answer_late(skua_request *request, void *user)
{
    (void)user;
    if (request) answer_hello(request, NULL);
}

static void answer_ticket(skua_request *request, void *user)
{
    (void)user;
    later(request, answer_late, NULL);
}

static void answer_blocking(const skua_request *request, skua_slice content, skua_reply *reply,
                            void *user)
{
    (void)request;
    (void)user;
    struct timespec rest = { .tv_nsec = CHORE_NS };
    (void)nanosleep(&rest, NULL);
    expect(skua_reply_give(reply, 200, "text/plain", content));
}

// ---- Content ----

static void collected(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)user;
    if (status == SKUA_OK) expect(skua_respond(request, 200, "text/plain", content));
}

static void answer_collect(skua_request *request, void *user)
{
    (void)user;
    expect(skua_content_collect(request, 0, collected, NULL));
}

static void spooled(skua_request *request, skua_status status, const skua_upload *upload,
                    void *user)
{
    (void)user;
    if (status) return;
    if (upload->file)
        expect(skua_respond_file(request, 200, "text/plain", upload->file, 0, upload->length));
    else expect(skua_respond(request, 200, "text/plain", upload->octets));
}

static void answer_spool(skua_request *request, void *user)
{
    (void)user;
    expect(skua_content_spool(request, SPOOL_MEMORY_OCTETS, 0, spooled, NULL));
}

static void form_read(skua_request *request, skua_status status, const skua_form_part *parts,
                      size_t count, void *user)
{
    (void)parts;
    (void)count;
    (void)user;
    if (status == SKUA_OK) answer_hello(request, NULL);
}

static void answer_form(skua_request *request, void *user)
{
    (void)user;
    if (skua_multipart_collect(request, SPOOL_MEMORY_OCTETS, 0, form_read, NULL))
        expect(skua_respond_error(request, 415));
}

static void answer_count(skua_request *request, visit *v)
{
    char text[32];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)v->at);
    expect(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// A handler that computes while uploads come.
static void spin(void)
{
    for (volatile unsigned i = 0; i < SPIN_ROUNDS; i++) {
    }
}

static void count_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    visit *v = user;
    v->at += octets.len;
    if (event == SKUA_CONTENT_DATA) spin();
    if (event == SKUA_CONTENT_DATA) skua_content_consume(request, octets.len);
    if (event == SKUA_CONTENT_END) answer_count(request, v);
}

static void answer_counted(skua_request *request, void *user)
{
    (void)user;
    expect(skua_content_read(request, count_content, visit_new(request)));
}

static void give_credit(skua_request *request, void *user)
{
    if (!request) return;
    visit *v = user;
    v->waits = false;
    size_t owed = v->owed;
    v->owed = 0;
    skua_content_consume(request, owed);
}

static void count_slowly(skua_request *request, skua_content_event event, skua_slice octets,
                         void *user)
{
    visit *v = user;
    v->at += octets.len;
    v->owed += octets.len;
    if (event == SKUA_CONTENT_DATA && !v->waits) {
        v->waits = true;
        later(request, give_credit, v);
    }
    if (event == SKUA_CONTENT_END) answer_count(request, v);
}

static void answer_slowly(skua_request *request, void *user)
{
    (void)user;
    expect(skua_content_read(request, count_slowly, visit_new(request)));
}

static void tunnel_content(skua_request *request, skua_content_event event, skua_slice octets,
                           void *user)
{
    (void)user;
    if (event == SKUA_CONTENT_LOST) return;
    if (event == SKUA_CONTENT_END) {
        expect(skua_finish(request));
        return;
    }
    skua_status status = skua_write(request, octets); // what finds no room is dropped
    if (status != SKUA_ELIMIT) expect(status);
    skua_content_consume(request, octets.len);
}

static void answer_tunnel(skua_request *request, void *user)
{
    (void)user;
    if (skua_upgrade(request, "echo", NULL, NULL)) expect(skua_respond_error(request, 400));
    else expect(skua_content_read(request, tunnel_content, NULL));
}

// ---- The server ----

static void add_routes(skua_server *server)
{
    static const struct {
        const char *pattern;
        skua_handler *handler;
    } routes[] = {
        { "/hello", answer_hello },
        { "GET /living", answer_living },
        { "GET /pull/{len}", answer_pull },
        { "GET /stream/{len}", answer_stream },
        { "GET /events/{len}", answer_events },
        { "GET /ticket", answer_ticket },
        { "GET /never", answer_never },
        { "GET /tunnel", answer_tunnel },
        { "POST /collect", answer_collect },
        { "POST /spool", answer_spool },
        { "POST /form", answer_form },
        { "POST /count", answer_counted },
        { "POST /slowly", answer_slowly },
    };
    const skua_middleware counting = { on_before, NULL, on_after, NULL };
    expect(skua_use(server, "/", &counting));
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        expect(skua_route(server, routes[i].pattern, routes[i].handler, NULL));
    expect(skua_route_blocking(server, "POST /blocking", answer_blocking, NULL));
    expect(
        skua_route_directory(server, "GET /files/", ".", &(skua_directory_config){ .list = true }));
}

int main(int argc, char **argv)
{
    const skua_config config = {
        .hosts = "*",
        .head_timeout_ns = SECOND_NS,
        .keep_alive_timeout_ns = 2 * (int64_t)SECOND_NS,
        .stall_timeout_ns = 5 * (int64_t)SECOND_NS,
        .stream_idle_timeout_ns = 5 * (int64_t)SECOND_NS,
        .linger_timeout_ns = SECOND_NS / 2,
        .on_connect = on_connect,
        .on_close = on_close,
    };
    skua_server *server = server_with_options(&config, argc, argv);
    add_routes(server);
    return server_serve_between(server, "storm", chores_begin, chores_end);
}
