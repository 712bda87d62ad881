// SPDX-License-Identifier: MIT
//
// Stops, over real sockets and on each backend: whatever else happens at the time, a server that
// was told to end does. One that does not is ended by an alarm. SKUA_SOAK_ROUNDS=N plays longer.

#include "support/socket.h"
#include "support/support.h"

#include "server/server.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WORKERS = 2, POSTERS = 2, LOGGERS = 2, ROUNDS = 10, PATIENCE_SECONDS = 30 };

static const char *backend; // under test

static skua_server *server_of(const skua_config *config)
{
    skua_config with = *config;
    if (!with.listen) with.listen = "127.0.0.1:0";
    with.backend = backend;
    skua_server *server = skua_server_new(&with);
    assert_non_null(server);
    return server;
}

// ---- Posting meanwhile ----

typedef struct crowd {
    skua_server *server;
    atomic_bool over;
    atomic_ulong posted, ran;
} crowd;

static void count_run(skua_worker *worker, void *user)
{
    (void)worker;
    crowd *c = user;
    atomic_fetch_add(&c->ran, 1);
}

static void *post_without_rest(void *user)
{
    crowd *c = user;
    for (unsigned i = 0; !atomic_load(&c->over); i++) {
        if (skua_post(c->server, i % WORKERS, count_run, c) == SKUA_OK)
            atomic_fetch_add(&c->posted, 1);
    }
    return NULL;
}

// Their sockets go through the same gate as what is posted, when they are handed over.
static void *connect_without_rest(void *user)
{
    crowd *c = user;
    socket_address to;
    assert_int_equal(socket_address_read(slice_of(skua_server_address(c->server, 0)), &to),
                     SKUA_OK);
    while (!atomic_load(&c->over)) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)!connect(fd, (const struct sockaddr *)(const void *)to.octets, to.len);
        socket_reset(fd);
    }
    return NULL;
}

static void post_while_it_stops(crowd *c, int64_t grace_ns)
{
    pthread_t threads[POSTERS + 1];
    assert_int_equal(skua_start(c->server), SKUA_OK);
    for (int i = 0; i < POSTERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, post_without_rest, c), 0);
    assert_int_equal(pthread_create(&threads[POSTERS], NULL, connect_without_rest, c), 0);
    while (atomic_load(&c->ran) < 100)
        sched_yield();
    skua_stop(c->server, grace_ns);
    assert_int_equal(skua_wait(c->server), SKUA_OK);
    atomic_store(&c->over, true);
    for (int i = 0; i < POSTERS + 1; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&c->posted), atomic_load(&c->ran));
}

static void test_posters_do_not_hold_it_up(void **state)
{
    (void)state;
    static const char *const accepts[] = { "reuseport", "handoff" };
    for (unsigned round = support_rounds(ROUNDS); round; round--) {
        crowd c = { .over = false };
        alarm(PATIENCE_SECONDS);
        c.server = server_of(&(skua_config){ .workers = WORKERS, .accept = accepts[round % 2] });
        post_while_it_stops(&c, round % 4 < 2 ? 0 : 1000000);
        skua_server_free(c.server);
    }
    alarm(0);
}

// ---- Logging meanwhile ----

static atomic_ulong lines_written;

static void count_lines(skua_slice octets, void *user)
{
    (void)user;
    for (size_t i = 0; i < octets.len; i++)
        if (octets.ptr[i] == '\n') atomic_fetch_add(&lines_written, 1);
}

static void *log_without_rest(void *user)
{
    crowd *c = user;
    while (!atomic_load(&c->over)) {
        skua_log(c->server, SKUA_SLICE("still here"));
        sched_yield();
    }
    return NULL;
}

// The log ends with each run, while others write to it.
static void test_a_log_that_ends_is_left_alone(void **state)
{
    (void)state;
    pthread_t loggers[LOGGERS];
    crowd c = { .over = false };
    c.server = server_of(&(skua_config){ .workers = 1, .log_write = count_lines });
    atomic_store(&lines_written, 0);
    for (int i = 0; i < LOGGERS; i++)
        assert_int_equal(pthread_create(&loggers[i], NULL, log_without_rest, &c), 0);
    for (unsigned round = support_rounds(ROUNDS); round; round--) {
        alarm(PATIENCE_SECONDS);
        unsigned long before = atomic_load(&lines_written);
        assert_int_equal(skua_start(c.server), SKUA_OK);
        while (atomic_load(&lines_written) == before)
            sched_yield();
        skua_stop(c.server, 0);
        assert_int_equal(skua_wait(c.server), SKUA_OK);
    }
    atomic_store(&c.over, true);
    for (int i = 0; i < LOGGERS; i++)
        pthread_join(loggers[i], NULL);
    skua_server_free(c.server);
    alarm(0);
}

// ---- Before a start, and after an end ----

typedef struct hooks {
    atomic_uint starts, ends;
} hooks;

static void hook_start(skua_worker *worker, void *user)
{
    (void)worker;
    atomic_fetch_add(&((hooks *)user)->starts, 1);
}

static void hook_end(skua_worker *worker, void *user)
{
    (void)worker;
    atomic_fetch_add(&((hooks *)user)->ends, 1);
}

static void answer(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("Hello")), SKUA_OK);
}

static skua_server *serving_of(hooks *h)
{
    skua_server *server = server_of(&(skua_config){ .workers = WORKERS,
                                                    .log_write = count_lines,
                                                    .on_worker_start = hook_start,
                                                    .on_worker_end = hook_end,
                                                    .hook_user = h });
    assert_int_equal(skua_route(server, "/hello", answer, NULL), SKUA_OK);
    return server;
}

static const char hello_request[] = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

static void send_text(int client, const char *text)
{
    assert_int_equal(send(client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

// Reads until text has come. Returns false if the end has come first, in whatever way.
static bool receive_text(int client, const char *text)
{
    char octets[4096];
    size_t len = 0;
    octets[0] = 0;
    while (!strstr(octets, text)) {
        ssize_t n = recv(client, octets + len, sizeof octets - 1 - len, 0);
        if (n <= 0) return false;
        len += (size_t)n;
        octets[len] = 0;
    }
    return true;
}

static void assert_serves(const skua_server *server)
{
    int client = socket_connect_to(skua_server_address(server, 0));
    send_text(client, hello_request);
    assert_true(receive_text(client, "Hello"));
    close(client);
}

static void test_before_a_start(void **state)
{
    (void)state;
    static const int64_t graces[] = { 0, 1000000000, INT64_MAX };
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *server = serving_of(&h);
    for (size_t i = 0; i < sizeof graces / sizeof *graces; i++) {
        skua_server *fresh = serving_of(&h);
        skua_stop(fresh, graces[i]);
        assert_int_equal(skua_run(fresh), SKUA_OK);
        assert_int_equal(skua_start(fresh), SKUA_OK); // that one was meant, and no other
        assert_serves(fresh);
        skua_stop(fresh, 0);
        assert_int_equal(skua_wait(fresh), SKUA_OK);
        assert_int_equal(h.starts, h.ends);
        skua_server_free(fresh);
    }
    skua_stop(server, 0);
    skua_server_free(server);
    alarm(0);
}

static void test_after_an_end(void **state)
{
    (void)state;
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *server = serving_of(&h);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(skua_start(server), SKUA_OK);
        assert_serves(server);
        skua_stop(server, 0);
        assert_int_equal(skua_wait(server), SKUA_OK);
        skua_stop(server, 0); // of what has ended
    }
    assert_int_equal(h.starts, 3 * WORKERS);
    skua_server_free(server);
    alarm(0);
}

// A program that tries until the address is free must be told to stop trying.
static void test_after_a_start_that_failed(void **state)
{
    (void)state;
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *first = serving_of(&h);
    assert_int_equal(skua_start(first), SKUA_OK);
    skua_server *second = server_of(&(skua_config){
        .listen = skua_server_address(first, 0), .workers = WORKERS, .log_write = count_lines });
    assert_int_equal(skua_start(second), SKUA_EADDRINUSE);
    assert_int_equal(skua_start(second), SKUA_EADDRINUSE);
    skua_stop(second, 0);
    assert_int_equal(skua_run(second), SKUA_OK);
    assert_int_equal(skua_start(second), SKUA_EADDRINUSE);
    skua_server_free(second);
    skua_server_free(first);
    alarm(0);
}

typedef struct race {
    skua_server *server;
    atomic_bool begun;
    unsigned rests; // before the stop
} race;

static void *stop_soon(void *user)
{
    race *r = user;
    while (!atomic_load(&r->begun)) {
    }
    for (unsigned i = r->rests; i; i--)
        sched_yield();
    skua_stop(r->server, 0);
    return NULL;
}

// Whenever it comes, before the start or in the middle of it, it is heard.
static void test_at_any_moment_of_a_start(void **state)
{
    (void)state;
    for (unsigned round = support_rounds(5 * ROUNDS); round; round--) {
        pthread_t stopper;
        race r = { .rests = round % 31 };
        alarm(PATIENCE_SECONDS);
        r.server = server_of(&(skua_config){ .workers = 1 + round % 2, .log_write = count_lines });
        assert_int_equal(pthread_create(&stopper, NULL, stop_soon, &r), 0);
        atomic_store(&r.begun, true);
        for (unsigned i = round % 5; i; i--)
            sched_yield();
        if (round % 3) {
            assert_int_equal(skua_run(r.server), SKUA_OK);
        } else {
            assert_int_equal(skua_open(r.server), SKUA_OK);
            while (skua_turn(r.server, -1) == SKUA_OK) {
            }
        }
        pthread_join(stopper, NULL);
        skua_server_free(r.server);
    }
    alarm(0);
}

static void test_before_an_opening(void **state)
{
    (void)state;
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *server = serving_of(&h);
    skua_stop(server, INT64_MAX);
    assert_int_equal(skua_open(server), SKUA_OK);
    struct pollfd fd = { .fd = skua_fd(server), .events = POLLIN };
    assert_true(skua_timeout_ns(server) == 0 || poll(&fd, 1, -1) == 1);
    assert_int_equal(skua_turn(server, 0), SKUA_ECLOSED);
    skua_stop(server, 0); // of what has ended
    assert_int_equal(skua_open(server), SKUA_OK);
    assert_int_equal(skua_turn(server, 0), SKUA_OK);
    skua_server_free(server);
    assert_int_equal(h.starts, h.ends);
    alarm(0);
}

// ---- The thread of a run ----

typedef struct turned_run {
    skua_server *server;
    pthread_t caller;
    atomic_bool begun, is_caller; // worker 0; on the thread that has called skua_run
    unsigned threads;             // that the process has while it runs; 0: not known
} turned_run;

static void run_begins(skua_worker *worker, void *user)
{
    turned_run *r = user;
    if (skua_worker_index(worker) != 0) return;
    atomic_store(&r->is_caller, pthread_equal(pthread_self(), r->caller));
    atomic_store(&r->begun, true);
}

static void *change_and_stop(void *user)
{
    turned_run *r = user;
    while (!atomic_load(&r->begun))
        sched_yield();
    assert_serves(r->server);
    while (r->threads && support_threads() != r->threads)
        sched_yield(); // those that have been joined may take a moment to be gone
    for (unsigned workers = 3; workers; workers--) {
        assert_int_equal(skua_workers_set(r->server, workers), SKUA_OK);
        for (unsigned i = 0; i < 4; i++)
            assert_serves(r->server);
    }
    skua_stop(r->server, 0);
    return NULL;
}

// Where the backend lets any thread turn it, skua_run turns worker 0, and the process needs no other thread.
static void test_a_run_turns_a_worker(void **state)
{
    (void)state;
    bool turns = !io_backend_find(backend)->settle;
    unsigned threads = support_threads_at_rest();
    for (unsigned workers = 1; workers <= 2; workers++) {
        pthread_t other;
        turned_run r = { .caller = pthread_self(), .threads = threads };
        if (threads) r.threads += 1 + workers - turns; // the one that stops it, too
        alarm(PATIENCE_SECONDS);
        r.server = server_of(
            &(skua_config){ .workers = workers, .on_worker_start = run_begins, .hook_user = &r });
        assert_int_equal(skua_route(r.server, "/hello", answer, NULL), SKUA_OK);
        assert_int_equal(pthread_create(&other, NULL, change_and_stop, &r), 0);
        assert_int_equal(skua_run(r.server), SKUA_OK);
        pthread_join(other, NULL);
        assert_int_equal(atomic_load(&r.is_caller), turns);
        skua_server_free(r.server);
    }
    alarm(0);
}

// write raises SIGPIPE, which sending to a socket does not, and the thread is the program's.
static void write_to_nobody(skua_worker *worker, void *user)
{
    int *ends = user;
    (void)worker;
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    assert_int_equal(write(ends[1], "bye", 3), -1);
    (void)close(ends[1]);
    ends[1] = 0;
}

static void test_the_end_of_a_worker_raises_no_signal(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        int ends[2] = { -1, -1 };
        skua_server *server = server_of(
            &(skua_config){ .workers = 1, .on_worker_end = write_to_nobody, .hook_user = ends });
        if (turned && io_backend_find(backend)->fd) {
            assert_int_equal(skua_open(server), SKUA_OK);
            skua_stop(server, 0);
            while (skua_turn(server, -1) == SKUA_OK)
                continue;
        } else {
            skua_stop(server, 0);
            assert_int_equal(skua_run(server), SKUA_OK);
        }
        assert_int_equal(ends[1], 0);
        skua_server_free(server);
    }
}

// A start that fails tells nobody of a worker that has begun.
static void test_a_run_that_cannot_start(void **state)
{
    (void)state;
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *first = serving_of(&h);
    assert_int_equal(skua_start(first), SKUA_OK);
    while (atomic_load(&h.starts) < WORKERS)
        sched_yield();
    skua_server *second = server_of(&(skua_config){ .listen = skua_server_address(first, 0),
                                                    .workers = 1,
                                                    .log_write = count_lines,
                                                    .on_worker_start = hook_start,
                                                    .hook_user = &h });
    assert_int_equal(skua_run(second), SKUA_EADDRINUSE);
    assert_int_equal(h.starts, WORKERS);
    skua_server_free(second);
    skua_server_free(first);
    alarm(0);
}

// ---- How long what runs may take ----

static atomic_ulong tickets;
static skua_ticket ticket;

static void hold(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_ticket_take(request, &ticket), SKUA_OK);
    atomic_fetch_add(&tickets, 1);
}

static void resumed(skua_request *request, void *user)
{
    *(bool *)user = request != NULL;
    if (request) assert_int_equal(skua_respond(request, 200, NULL, SKUA_SLICE("Late")), SKUA_OK);
}

// Returns a client whose request is held.
static int hold_on(const skua_server *server)
{
    int client = socket_connect_to(skua_server_address(server, 0));
    unsigned long before = atomic_load(&tickets);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (atomic_load(&tickets) == before)
        sched_yield();
    return client;
}

static skua_server *holding_of(int *client)
{
    skua_server *server = server_of(&(skua_config){ .workers = 1 });
    assert_int_equal(skua_route(server, "/hold", hold, NULL), SKUA_OK);
    assert_int_equal(skua_start(server), SKUA_OK);
    *client = hold_on(server);
    return server;
}

static void test_the_longest_grace(void **state)
{
    (void)state;
    int client;
    bool there = false;
    alarm(PATIENCE_SECONDS);
    skua_server *server = holding_of(&client);
    skua_stop(server, INT64_MAX);
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); // to be heard of
    assert_int_equal(skua_resume(ticket, resumed, &there), SKUA_OK);
    assert_true(receive_text(client, "Late"));
    assert_int_equal(skua_wait(server), SKUA_OK);
    assert_true(there);
    close(client);
    skua_server_free(server);
    alarm(0);
}

// The second one may come while a worker, because of the first, stops to accept.
static void test_the_smallest_grace_counts(void **state)
{
    (void)state;
    for (unsigned round = support_rounds(ROUNDS); round; round--) {
        int client;
        alarm(PATIENCE_SECONDS);
        skua_server *server = holding_of(&client);
        skua_stop(server, INT64_MAX);
        for (unsigned i = round % 7; i; i--)
            sched_yield();
        skua_stop(server, 0);
        skua_stop(server, INT64_MAX);
        assert_int_equal(skua_wait(server), SKUA_OK);
        assert_false(receive_text(client, "Late"));
        close(client);
        skua_server_free(server);
    }
    alarm(0);
}

// One that is idle, one that has never sent anything, and one whose answer came before its content
// had been read, and who is heard for a while; none of them closes.
static void test_nobody_waits_for_who_waits_for_nothing(void **state)
{
    (void)state;
    hooks h = { 0 };
    alarm(PATIENCE_SECONDS);
    skua_server *server = serving_of(&h);
    assert_int_equal(skua_start(server), SKUA_OK);
    int idle = socket_connect_to(skua_server_address(server, 0));
    int silent = socket_connect_to(skua_server_address(server, 0));
    int lingering = socket_connect_to(skua_server_address(server, 0));
    send_text(idle, hello_request);
    assert_true(receive_text(idle, "Hello"));
    send_text(lingering,
              "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\nabc");
    assert_true(receive_text(lingering, "Hello"));
    skua_stop(server, INT64_MAX);
    assert_int_equal(skua_wait(server), SKUA_OK);
    close(idle);
    close(silent);
    close(lingering);
    skua_server_free(server);
    alarm(0);
}

// ---- By signals ----

static atomic_ulong signals_of_the_program;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&signals_of_the_program, 1);
}

// The first signal waits for what is served, the second does not; afterwards the program has them again.
static void test_signals(void **state)
{
    (void)state;
    const int numbers[] = { SIGINT, SIGTERM };
    for (int i = 0; i < 2; i++) {
        int client;
        unsigned long counted = atomic_load(&signals_of_the_program);
        struct sigaction own = { .sa_handler = count_signal }, found;
        alarm(PATIENCE_SECONDS);
        assert_int_equal(sigaction(numbers[i], &own, NULL), 0);
        skua_server *server = holding_of(&client), *other = skua_server_new(NULL);
        assert_int_equal(skua_stop_on_signals(server, 1), SKUA_OK);
        assert_int_equal(skua_stop_on_signals(server, INT64_MAX), SKUA_OK);
        assert_int_equal(skua_stop_on_signals(other, 0), SKUA_EEXIST);
        assert_non_null(strstr(skua_server_error(other), "another server"));
        assert_int_equal(kill(getpid(), numbers[i]), 0);
        bool there = false;
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); // to be heard of
        if (i == 0) {
            assert_int_equal(skua_resume(ticket, resumed, &there), SKUA_OK);
            assert_true(receive_text(client, "Late"));
        } else {
            assert_int_equal(kill(getpid(), numbers[1 - i]), 0);
        }
        assert_int_equal(skua_wait(server), SKUA_OK);
        if (i) assert_false(receive_text(client, "Late"));
        close(client);
        skua_server_free(server);
        skua_server_free(other);
        assert_int_equal(sigaction(numbers[i], NULL, &found), 0);
        assert_true(found.sa_handler == count_signal);
        assert_int_equal(kill(getpid(), numbers[i]), 0);
        assert_int_equal(atomic_load(&signals_of_the_program), counted + 1);
        signal_default(numbers[i]);
    }
    alarm(0);
}

// A server that is started again waits for what it serves, as in its first run.
static void test_signals_of_a_second_run(void **state)
{
    (void)state;
    int client;
    bool there = false;
    alarm(PATIENCE_SECONDS);
    skua_server *server = holding_of(&client);
    assert_int_equal(skua_stop_on_signals(server, INT64_MAX), SKUA_OK);
    for (int run = 0; run < 2; run++) {
        assert_int_equal(kill(getpid(), SIGTERM), 0);
        nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL); // to be heard of
        assert_int_equal(skua_resume(ticket, resumed, &there), SKUA_OK);
        assert_true(receive_text(client, "Late"));
        assert_int_equal(skua_wait(server), SKUA_OK);
        close(client);
        if (run == 0) {
            assert_int_equal(skua_start(server), SKUA_OK);
            client = hold_on(server);
        }
    }
    skua_server_free(server);
    alarm(0);
}

static void test_signals_that_are_ignored(void **state)
{
    (void)state;
    struct sigaction ignored = { .sa_handler = SIG_IGN }, found;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(sigaction(SIGINT, &ignored, NULL), 0);
    assert_int_equal(skua_stop_on_signals(server, 0), SKUA_OK);
    assert_int_equal(sigaction(SIGINT, NULL, &found), 0);
    assert_true(found.sa_handler == SIG_IGN);
    assert_int_equal(sigaction(SIGTERM, NULL, &found), 0);
    assert_true(found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN);
    skua_server_free(server);
    assert_int_equal(sigaction(SIGTERM, NULL, &found), 0);
    assert_true(found.sa_handler == SIG_DFL);
    signal_default(SIGINT);
}

static int over(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posters_do_not_hold_it_up),
        cmocka_unit_test(test_a_log_that_ends_is_left_alone),
        cmocka_unit_test(test_before_a_start),
        cmocka_unit_test(test_after_an_end),
        cmocka_unit_test(test_after_a_start_that_failed),
        cmocka_unit_test(test_at_any_moment_of_a_start),
        cmocka_unit_test(test_before_an_opening),
        cmocka_unit_test(test_a_run_turns_a_worker),
        cmocka_unit_test(test_a_run_that_cannot_start),
        cmocka_unit_test(test_the_end_of_a_worker_raises_no_signal),
        cmocka_unit_test(test_the_longest_grace),
        cmocka_unit_test(test_the_smallest_grace_counts),
        cmocka_unit_test(test_nobody_waits_for_who_waits_for_nothing),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_signals_of_a_second_run),
        cmocka_unit_test(test_signals_that_are_ignored),
    };
    const io_backend *found = io_backend_find(name);
    const char *call;
    if (!found || (found->probe && found->probe(&call))) return 0; // not to be had here
    backend = name;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    return over("epoll") + over("uring") + over("kqueue");
}
