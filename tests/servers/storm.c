// SPDX-License-Identifier: MIT
//
// The server of the stress tests: the application of the tests, whose clients may leave at any
// moment. A thread of its own goes on with what the application puts off.
//
//     storm --port N [--workers N] [--backend NAME] [--accept HOW]
//
// The current folder is served. GET /living tells how many connections and requests there are, for
// a test to see that nothing is left behind.
#include "options.h"
#include "app/app.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    SECOND_NS = 1000000000,
    CHORE_NS = 1000000,  // between two rounds of the thread that does what is put off
    SPIN_ROUNDS = 20000, // what a handler computes for a piece of content
    LENGTH_MAX = 4 << 20,
    STEP_OCTETS = 16000,
    PIECE_OCTETS = 5000,
};

static struct {
    atomic_long connections, requests, posts;
} living;

// ---- What is put off ----

// To be resumed by a thread of our own some time later.
typedef struct chore {
    struct chore *next;
    skua_ticket ticket;
    skua_resume_fn *fn;
    visit *visit;
    unsigned worker; // of the visit's request
} chore;

static struct {
    pthread_mutex_t lock;
    chore *first;
    bool ends;
    visit *late; // nobody is left who could go on with them
    unsigned workers;
    pthread_t thread;
} chores = { .lock = PTHREAD_MUTEX_INITIALIZER };

static app stormed;

static void chore_add(visit *v, skua_ticket ticket, skua_resume_fn *fn)
{
    chore *c = app_alloc(sizeof *c);
    *c = (chore){ .ticket = ticket,
                  .fn = fn,
                  .visit = v,
                  .worker = skua_worker_index(skua_request_worker(v->request)) };
    (void)pthread_mutex_lock(&chores.lock);
    c->next = chores.first;
    chores.first = c;
    (void)pthread_mutex_unlock(&chores.lock);
}

static void put_off_done(skua_request *request, void *user)
{
    visit *v = user;
    if (!request) v->wait = VISIT_WAITS_NOT;
    visit_go_on(v);
}

// Without a ticket, as when memory runs out, only a deadline ends the request.
static void put_off(visit *v)
{
    skua_ticket ticket = { 0 };
    (void)app_must(v->app, skua_ticket_take(v->request, &ticket));
    chore_add(v, ticket, put_off_done);
}

static void hand_over(visit *v)
{
    chore_add(v, v->ticket, visit_taken_up);
}

static void put_off_in_vain(skua_worker *worker, void *user)
{
    (void)worker;
    put_off_done(NULL, user);
}

// The request has ended, or is about to. The visit is its worker's to give back while there is one.
static void chore_give_back(const chore *c)
{
    if (skua_post(stormed.server, c->worker, put_off_in_vain, c->visit) == SKUA_OK) return;
    c->visit->next = chores.late;
    chores.late = c->visit;
}

static void chore_do(const chore *c)
{
    bool counts = c->fn == visit_taken_up;
    if (counts) stormed.granted++;
    if (app_must(&stormed, skua_resume(c->ticket, c->fn, c->visit))) return;
    if (counts) stormed.granted--;
    chore_give_back(c);
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
        if (skua_post(stormed.server, i, on_post, NULL)) atomic_fetch_sub(&living.posts, 1);
    }
}

static void *chores_run(void *user)
{
    (void)user;
    struct timespec rest = { .tv_nsec = CHORE_NS };
    for (bool ends = false; !ends;) {
        for (chore *c = chores_take(&ends), *next; c; c = next) {
            next = c->next;
            chore_do(c);
            free(c);
        }
        post_to_all();
        (void)nanosleep(&rest, NULL);
    }
    return NULL;
}

static void chores_begin(skua_server *server)
{
    chores.workers = skua_server_workers(server);
    if (pthread_create(&chores.thread, NULL, chores_run, NULL)) abort();
}

static void chores_end(void)
{
    (void)pthread_mutex_lock(&chores.lock);
    chores.ends = true;
    (void)pthread_mutex_unlock(&chores.lock);
    (void)pthread_join(chores.thread, NULL);
    while (chores.late) {
        visit *v = chores.late;
        chores.late = v->next;
        put_off_done(NULL, v);
    }
    const char *wrong = app_free(&stormed);
    if (!wrong && atomic_load(&living.posts)) wrong = "a letter that was taken was not delivered";
    if (!wrong) return;
    (void)fprintf(stderr, "storm: assertion: %s\n", wrong);
    abort();
}

// ---- What takes its time ----

// In a blocking handler, or in one that computes while uploads come.
static void labour(bool blocking)
{
    struct timespec rest = { .tv_nsec = CHORE_NS };
    if (blocking) (void)nanosleep(&rest, NULL);
    for (volatile unsigned i = 0; !blocking && i < SPIN_ROUNDS; i++) {
    }
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
    char words[64];
    int len = snprintf(words, sizeof words, "%ld %ld", atomic_load(&living.connections),
                       atomic_load(&living.requests));
    (void)app_must(user,
                   skua_respond(request, 200, "text/plain", (skua_slice){ words, (size_t)len }));
}

// ---- The server ----

static void add_routes(skua_server *server)
{
    static const app_manner manner = { .put_off = put_off,
                                       .hand_over = hand_over,
                                       .labour = labour };
    static const app_route routes[] = { { "GET /living", answer_living } };
    const skua_middleware counting = { on_before, NULL, on_after, NULL };
    stormed = (app){ .folder = ".",
                     .lenient = true,
                     .forgets = true,
                     .len_max = LENGTH_MAX,
                     .step_octets = STEP_OCTETS,
                     .piece_octets = PIECE_OCTETS };
    app_init(&stormed, &manner, server);
    (void)app_must(&stormed, skua_root_open(".", &stormed.root));
    (void)app_must(&stormed, skua_use(server, "/", &counting));
    app_add(&stormed, routes, sizeof routes / sizeof *routes);
    app_add_answers(&stormed);
    app_add_content(&stormed);
    app_add_sources(&stormed);
    app_add_streams(&stormed);
    app_add_unfinished(&stormed);
    app_add_threads(&stormed);
    app_add_files(&stormed);
}

int main(int argc, char **argv)
{
    const skua_config config = {
        .hosts = "*",
        .head_timeout_ns = 5 * (int64_t)SECOND_NS, // honest clients may stand still for some
        .keep_alive_timeout_ns = 5 * (int64_t)SECOND_NS,
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
