// SPDX-License-Identifier: MIT
//
// Everything that crosses threads, at once and under stress: tickets resumed from several threads,
// functions posted, blocking handlers, clients that go away at any moment, and servers that are
// stopped and freed in the middle of it. Whatever the order, each thing has happened exactly once
// or been refused. SKUA_STRESS_SECONDS=N plays longer.

#include "skua/skua.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    WORKERS = 3,
    CLIENTS = 4,
    RESUMERS = 3,
    POSTERS = 2,
    SECONDS = 6,
    PATIENCE_S = 60,
    PILE = 512
};

// A ticket, and what has come of it.
typedef struct voucher {
    struct voucher *next;
    skua_ticket ticket;
    atomic_uint granted, called;
} voucher;

// A call of a handler.
typedef struct visit {
    struct visit *next;
    atomic_uint ended;
} visit;

static struct {
    pthread_mutex_t lock;
    voucher *vouchers; // all of them
    visit *visits;
    voucher *pile[PILE]; // those that resumers choose from; old ones are overwritten
    unsigned piled;
} book = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
    atomic_bool over;    // no more clients and resumers
    atomic_bool closing; // no more posters
    atomic_int port;
    atomic_ulong answered, resumed, without, refused, posted, ran, begun, handled, replies;
} now;

static _Thread_local uint64_t chance;

static unsigned dice(unsigned n)
{
    if (!chance) chance = (uint64_t)(uintptr_t)&chance ^ (uint64_t)time(NULL) << 20;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (unsigned)(chance >> 33) % n;
}

static void doze(unsigned microseconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)microseconds * 1000 }, NULL);
}

static double clock_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// ---- The server's side ----

static void on_end(skua_request *request, skua_end how, void *user)
{
    (void)request;
    (void)how;
    atomic_fetch_add(&((visit *)user)->ended, 1);
}

static bool visit_begin(skua_request *request)
{
    visit *v = calloc(1, sizeof *v);
    if (!v) return false;
    skua_on_end(request, on_end, v);
    pthread_mutex_lock(&book.lock);
    v->next = book.visits;
    book.visits = v;
    pthread_mutex_unlock(&book.lock);
    return true;
}

static void voucher_put(skua_ticket ticket)
{
    voucher *v = calloc(1, sizeof *v);
    if (!v) return;
    v->ticket = ticket;
    pthread_mutex_lock(&book.lock);
    v->next = book.vouchers;
    book.vouchers = v;
    book.pile[book.piled < PILE ? book.piled++ : dice(PILE)] = v;
    pthread_mutex_unlock(&book.lock);
}

static voucher *voucher_choose(void)
{
    pthread_mutex_lock(&book.lock);
    voucher *v = book.piled ? book.pile[dice(book.piled)] : NULL;
    pthread_mutex_unlock(&book.lock);
    return v;
}

static void take_up(skua_request *request, void *user)
{
    atomic_fetch_add(&((voucher *)user)->called, 1);
    atomic_fetch_add(request ? &now.resumed : &now.without, 1);
    skua_ticket again;
    if (!request) return;
    if (dice(8) == 0 && skua_ticket_take(request, &again) == SKUA_OK) {
        voucher_put(again);
        return;
    }
    skua_status status = skua_respond(request, 200, "text/plain", SKUA_SLICE("later"));
    if (status != SKUA_OK && status != SKUA_ESTATE) atomic_store(&now.over, true);
}

static void handle_later(skua_request *request, void *user)
{
    (void)user;
    if (!visit_begin(request)) return;
    for (unsigned n = 1 + dice(3); n; n--) {
        skua_ticket ticket;
        if (skua_ticket_take(request, &ticket) == SKUA_OK) voucher_put(ticket);
    }
}

static void handle_now(skua_request *request, void *user)
{
    (void)user;
    if (visit_begin(request) && skua_respond(request, 200, "text/plain", SKUA_SLICE("now")))
        atomic_store(&now.over, true);
}

static bool taken(skua_status status)
{
    return status == SKUA_OK || status == SKUA_ECLOSED;
}

// In one piece, or in a few, the last of which may be missing.
static bool respond_blocking(skua_request *request, skua_slice content)
{
    static const char octets[100000];
    if (dice(2)) return taken(skua_respond(request, 200, "text/plain", content));
    bool right = taken(skua_respond_stream(request, 200, "text/plain", -1, NULL, NULL));
    for (unsigned n = dice(4); right && n; n--)
        right = taken(skua_write(request, (skua_slice){ octets, dice(sizeof octets) }));
    return right && (dice(4) == 0 || taken(skua_finish(request)));
}

static void handle_blocking(skua_request *request, void *user)
{
    skua_slice content = skua_request_content(request);
    (void)user;
    atomic_fetch_add(&now.begun, 1);
    char peer[64];
    bool right = skua_request_peer(request, peer, sizeof peer) == 9 &&
                 skua_request_field(request, "host").len == 9;
    for (unsigned n = dice(4); n && !skua_request_is_gone(request); n--)
        doze(300);
    skua_slice id = skua_request_param(request, "id"); // it is still there
    right = right && id.len == 4 && memcmp(id.ptr, "abcd", 4) == 0 && content.len == 5 &&
            memcmp(content.ptr, "hello", 5) == 0 && taken(skua_field_add(request, "X-Id", id));
    if (!right || (dice(8) && !respond_blocking(request, content))) atomic_store(&now.over, true);
    else atomic_fetch_add(&now.handled, 1);
}

static void posted(skua_worker *worker, void *user)
{
    (void)user;
    if (skua_worker_index(worker) < WORKERS) atomic_fetch_add(&now.ran, 1);
}

static void discard_log(skua_slice octets, void *user)
{
    (void)octets;
    (void)user;
}

// ---- Those who disturb ----

static int client_connect(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)atomic_load(&now.port)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct timeval patience = { .tv_usec = 200000 };
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

static void client_send(int fd)
{
    static const char *const requests[] = {
        "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "POST /blocking/abcd HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello",
        "GET /now HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    for (unsigned n = 1 + dice(3); n; n--) {
        const char *text = requests[dice(4)];
        (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
    }
}

static void client_leave(int fd)
{
    if (dice(2)) {
        struct linger abrupt = { .l_onoff = 1 };
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &abrupt, sizeof abrupt);
    } else if (dice(2)) {
        shutdown(fd, SHUT_WR);
        doze(dice(500));
    }
    close(fd);
}

static void *client(void *user)
{
    (void)user;
    while (!atomic_load(&now.over)) {
        int fd = client_connect();
        if (fd < 0) {
            doze(1000);
            continue;
        }
        for (unsigned n = 1 + dice(4); n; n--) {
            char octets[4096];
            client_send(fd);
            if (dice(3) == 0) break;
            ssize_t got = recv(fd, octets, sizeof octets, 0);
            if (got <= 0) break;
            atomic_fetch_add(&now.answered, 1);
            if (got > 12 && memmem(octets, (size_t)got, "X-Id: abcd", 10))
                atomic_fetch_add(&now.replies, 1);
        }
        if (dice(2)) doze(dice(2000));
        client_leave(fd);
    }
    return NULL;
}

static void *resumer(void *user)
{
    (void)user;
    while (!atomic_load(&now.over)) {
        voucher *v = voucher_choose();
        if (!v) {
            doze(100);
            continue;
        }
        if (skua_resume(v->ticket, take_up, v) == SKUA_OK) atomic_fetch_add(&v->granted, 1);
        else if (atomic_fetch_add(&now.refused, 1) % 64 == 0) doze(dice(200));
    }
    return NULL;
}

static void *poster(void *server)
{
    while (!atomic_load(&now.closing)) {
        if (skua_post(server, dice(WORKERS + 1), posted, NULL) == SKUA_OK)
            atomic_fetch_add(&now.posted, 1);
        doze(dice(300));
    }
    return NULL;
}

// ---- The play ----

static skua_server *server_start(void)
{
    skua_config config = { .listen = "127.0.0.1:0",
                           .workers = WORKERS,
                           .log_write = discard_log,
                           .blocking_threads = 4,
                           .blocking_queue_max = 8,
                           .handler_timeout_ns = dice(2) ? 20000000 : 0 };
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "GET /later", handle_later, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /now", handle_now, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "POST /blocking/{id}", handle_blocking, NULL),
                     SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    const char *address = skua_server_address(server, 0);
    atomic_store(&now.port, (int)strtol(strrchr(address, ':') + 1, NULL, 10));
    return server;
}

static void play_round(void)
{
    static const int64_t graces[] = { 0, 1000000, 30000000 };
    pthread_t posters[POSTERS];
    skua_server *server = server_start();
    atomic_store(&now.closing, false);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&posters[i], NULL, poster, server), 0);
    doze(100000 + dice(300000));
    skua_stop(server, graces[dice(3)]);
    if (dice(2)) skua_wait(server); // posters find it gone
    atomic_store(&now.closing, true);
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i], NULL);
    skua_server_free(server);
    assert_int_equal(atomic_load(&now.posted), atomic_load(&now.ran));
}

// Whether each thing has happened often enough to have met the others.
static bool is_enough(void)
{
    return now.resumed + now.without > 1000 && now.without > 0 && now.refused > 0 &&
           now.posted > 100 && now.handled > 50 && now.replies > 0;
}

static void check_book(void)
{
    unsigned long vouchers = 0, granted = 0, visits = 0;
    while (book.vouchers) {
        voucher *v = book.vouchers;
        book.vouchers = v->next;
        assert_true(v->granted <= 1);
        assert_int_equal(v->granted, v->called);
        vouchers++;
        granted += v->granted;
        free(v);
    }
    while (book.visits) {
        visit *v = book.visits;
        book.visits = v->next;
        assert_int_equal(v->ended, 1);
        visits++;
        free(v);
    }
    printf(
        "%lu requests, %lu tickets, %lu resumed, %lu too late, %lu refused; %lu posted; %lu blocking, %lu of them "
        "seen; %lu reads of answers\n",
        visits, vouchers, granted, now.without, now.refused, now.posted, now.handled, now.replies,
        now.answered);
    assert_int_equal(granted, now.resumed + now.without);
    assert_int_equal(now.handled, now.begun);
    assert_true(is_enough());
}

static void test_threads_under_stress(void **state)
{
    (void)state;
    const char *longer = getenv("SKUA_STRESS_SECONDS");
    double end = clock_seconds() + (longer ? strtod(longer, NULL) : SECONDS);
    pthread_t clients[CLIENTS], resumers[RESUMERS];
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, client, NULL), 0);
    for (int i = 0; i < RESUMERS; i++)
        assert_int_equal(pthread_create(&resumers[i], NULL, resumer, NULL), 0);
    // On a loaded machine it takes longer.
    while (clock_seconds() < (is_enough() ? end : end + PATIENCE_S) && !atomic_load(&now.over))
        play_round();
    assert_false(atomic_load(&now.over)); // a handler found something wrong
    atomic_store(&now.over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    for (int i = 0; i < RESUMERS; i++)
        pthread_join(resumers[i], NULL);
    check_book();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads_under_stress) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
