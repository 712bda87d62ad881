// SPDX-License-Identifier: MIT
//
// Foreign loops, over real sockets: turned by poll alone, several in one thread, their timers, and
// their end.

#include "support/socket.h"

#include "server/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const int64_t ms_ns = 1000000;

static int64_t now_ns(void)
{
    return io_clock_ns();
}

static const char *backend; // under test

// ---- A program with a loop of its own ----

typedef struct program {
    skua_server *server;
    skua_request *held;
    unsigned starts, ends, ticks, requests;
    int64_t started_ns, ticked_ns;
    skua_timer timer;
    skua_worker *worker;
} program;

static void answer_hello(skua_request *request, void *user)
{
    program *p = user;
    p->requests++;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static void hold(skua_request *request, void *user)
{
    program *p = user;
    p->held = request;
}

static void worker_starts(skua_worker *worker, void *user)
{
    program *p = user;
    p->starts++;
    p->worker = worker;
}

static void worker_ends(skua_worker *worker, void *user)
{
    program *p = user;
    assert_ptr_equal(worker, p->worker);
    p->ends++;
}

static void program_open(program *p)
{
    *p = (program){ .held = NULL };
    p->server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:0",
                                                .workers = 3,
                                                .backend = backend,
                                                .on_worker_start = worker_starts,
                                                .on_worker_end = worker_ends,
                                                .hook_user = p });
    assert_non_null(p->server);
    assert_int_equal(skua_route(p->server, "/hello", answer_hello, p), SKUA_OK);
    assert_int_equal(skua_route(p->server, "/hold", hold, p), SKUA_OK);
    assert_int_equal(skua_open(p->server), SKUA_OK);
    assert_int_equal(skua_server_workers(p->server), 1);
    assert_int_equal(p->starts, 1);
    assert_true(skua_fd(p->server) >= 0);
}

// Waits as a caller would: for the descriptor and the time, no longer. Returns whether there was
// something to do.
static bool program_wait(const program *p, int most_ms)
{
    int64_t ns = skua_timeout_ns(p->server);
    int ms = ns < 0 || ns > most_ms * ms_ns ? most_ms : (int)((ns + ms_ns - 1) / ms_ns);
    struct pollfd fd = { .fd = skua_fd(p->server), .events = POLLIN };
    return poll(&fd, 1, ms) > 0 || (ns >= 0 && ns <= most_ms * ms_ns);
}

// Until the client has an answer that ends in text.
static void program_serve(const program *p, int client, char *answer, size_t room, const char *text)
{
    size_t len = 0;
    int64_t until = now_ns() + 10000 * ms_ns;
    answer[0] = 0;
    while (!strstr(answer, text)) {
        assert_true(now_ns() < until);
        if (program_wait(p, 20)) assert_int_equal(skua_turn(p->server, 0), SKUA_OK);
        ssize_t n = recv(client, answer + len, room - 1 - len, MSG_DONTWAIT);
        if (n > 0) len += (size_t)n;
        answer[len] = 0;
    }
}

static int connect_to(const program *p)
{
    return socket_connect_to(skua_server_address(p->server, 0));
}

static void send_text(int client, const char *text)
{
    assert_int_equal(send(client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static const char hello_request[] = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

// ---- Serving ----

static void poll_alone_serves_requests(void **state)
{
    (void)state;
    program p;
    char answer[512];
    program_open(&p);
    int client = connect_to(&p);
    for (unsigned i = 1; i <= 3; i++) {
        send_text(client, hello_request);
        program_serve(&p, client, answer, sizeof answer, "\r\n\r\nHello");
        assert_int_equal(p.requests, i);
    }
    close(client);
    skua_server_free(p.server);
    assert_int_equal(p.ends, 1);
}

static void several_servers_share_a_thread(void **state)
{
    (void)state;
    enum { PROGRAMS = 3 };
    program p[PROGRAMS];
    int clients[PROGRAMS];
    char answer[512];
    for (int i = 0; i < PROGRAMS; i++) {
        program_open(&p[i]);
        clients[i] = connect_to(&p[i]);
        send_text(clients[i], hello_request);
    }
    for (int i = PROGRAMS; i-- > 0;)
        program_serve(&p[i], clients[i], answer, sizeof answer, "Hello");
    for (int i = 0; i < PROGRAMS; i++) {
        assert_int_equal(p[i].requests, 1);
        close(clients[i]);
        skua_server_free(p[i].server);
    }
}

// An answer given outside of a turn must not wait for the client to send something.
static void an_answer_from_outside_is_sent_by_the_next_turn(void **state)
{
    (void)state;
    program p;
    char answer[512];
    program_open(&p);
    int client = connect_to(&p);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!p.held) {
        if (program_wait(&p, 20)) assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    }
    assert_int_equal(skua_respond(p.held, 200, NULL, SKUA_SLICE("Later")), SKUA_OK);
    assert_int_equal(skua_timeout_ns(p.server), 0);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    struct pollfd fd = { .fd = client, .events = POLLIN };
    assert_int_equal(poll(&fd, 1, 10000), 1);
    program_serve(&p, client, answer, sizeof answer, "Later");
    close(client);
    skua_server_free(p.server);
}

static void *ask_in_a_while(void *user)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20 * ms_ns }, NULL);
    send_text(*(const int *)user, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    return NULL;
}

// Nothing but the descriptor ends the wait.
static void whoever_waits_is_woken(void **state)
{
    (void)state;
    program p;
    pthread_t thread;
    char answer[512];
    program_open(&p);
    int client = connect_to(&p);
    for (int i = 0; i < 3; i++) {
        while (program_wait(&p, 5))
            assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
        int64_t begin = now_ns();
        assert_int_equal(pthread_create(&thread, NULL, ask_in_a_while, &client), 0);
        assert_true(program_wait(&p, 60000));
        assert_true(now_ns() - begin < 30000 * ms_ns);
        assert_int_equal(pthread_join(thread, NULL), 0);
        program_serve(&p, client, answer, sizeof answer, "Hello");
    }
    close(client);
    skua_server_free(p.server);
}

// ---- Timers ----

static void respond_held(skua_worker *worker, void *user)
{
    program *p = user;
    assert_ptr_equal(worker, p->worker);
    assert_int_equal(skua_respond(p->held, 200, NULL, SKUA_SLICE("Timed")), SKUA_OK);
}

static void tick(skua_worker *worker, void *user)
{
    program *p = user;
    (void)worker;
    p->ticks++;
    p->ticked_ns = now_ns();
}

static void tick_three(skua_worker *worker, void *user)
{
    program *p = user;
    tick(worker, user);
    if (p->ticks == 3) assert_true(skua_timer_stop(p->timer));
}

static void a_turn_starts_what_its_timers_have_answered(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    int client = connect_to(&p);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!p.held)
        assert_int_equal(skua_turn(p.server, 20 * ms_ns), SKUA_OK);
    assert_int_equal(skua_timer_start(p.worker, 5 * ms_ns, 0, respond_held, &p, NULL), SKUA_OK);
    nanosleep(&(struct timespec){ .tv_nsec = 6 * ms_ns }, NULL);
    assert_int_equal(skua_timeout_ns(p.server), 0);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    struct pollfd fd = { .fd = client, .events = POLLIN };
    assert_int_equal(poll(&fd, 1, 10000), 1); // no further turn was needed
    close(client);
    skua_server_free(p.server);
}

static void timers_are_precise(void **state)
{
    (void)state;
    static const int64_t delays[] = { 0, 300000, 1700000, 4200000 };
    program p;
    program_open(&p);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        int64_t best = INT64_MAX;
        for (int round = 0; round < 500 && best > ms_ns / 2; round++) { // the machine may be busy
            unsigned before = p.ticks;
            int64_t began = now_ns();
            assert_int_equal(skua_timer_start(p.worker, delays[i], 0, tick, &p, NULL), SKUA_OK);
            while (p.ticks == before)
                assert_int_equal(skua_turn(p.server, -1), SKUA_OK);
            int64_t late = p.ticked_ns - began - delays[i];
            assert_true(late >= 0);
            if (late < best) best = late;
        }
        assert_in_range(best, 0, ms_ns / 2);
    }
    skua_server_free(p.server);
}

static void a_repeating_timer_keeps_its_beat_and_stops_itself(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    int64_t began = now_ns();
    assert_int_equal(skua_timer_start(p.worker, ms_ns, 2 * ms_ns, tick_three, &p, &p.timer),
                     SKUA_OK);
    while (p.ticks < 3)
        assert_int_equal(skua_turn(p.server, -1), SKUA_OK);
    assert_true(p.ticked_ns - began >= 5 * ms_ns);
    int64_t until = now_ns() + 20 * ms_ns;
    while (now_ns() < until)
        assert_int_equal(skua_turn(p.server, ms_ns), SKUA_OK);
    assert_int_equal(p.ticks, 3);
    skua_server_free(p.server);
}

static void missed_beats_are_left_out(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    assert_int_equal(skua_timer_start(p.worker, 0, ms_ns, tick, &p, &p.timer), SKUA_OK);
    nanosleep(&(struct timespec){ .tv_nsec = 20 * ms_ns }, NULL);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    assert_int_equal(p.ticks, 1);
    assert_true(skua_timer_stop(p.timer));
    // freed with the worker
    assert_int_equal(skua_timer_start(p.worker, 1000000 * ms_ns, 0, tick, &p, NULL), SKUA_OK);
    skua_server_free(p.server);
}

// ---- The end ----

static void a_stop_from_another_thread_is_readable(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    struct pollfd fd = { .fd = skua_fd(p.server), .events = POLLIN };
    assert_int_equal(poll(&fd, 1, 0), 0);
    skua_stop(p.server, 0);
    assert_int_equal(poll(&fd, 1, 10000), 1);
    assert_int_equal(skua_turn(p.server, 0), SKUA_ECLOSED);
    assert_int_equal(skua_turn(p.server, 0), SKUA_ECLOSED);
    assert_int_equal(p.ends, 1);
    assert_int_equal(skua_fd(p.server), -1);
    assert_int_equal(skua_timeout_ns(p.server), -1);
    assert_int_equal(skua_open(p.server), SKUA_OK); // and again
    assert_int_equal(p.starts, 2);
    skua_server_free(p.server);
    assert_int_equal(p.ends, 2);
}

static void a_stop_waits_for_what_runs_until_its_grace_is_over(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    int client = connect_to(&p);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!p.held)
        assert_int_equal(skua_turn(p.server, 20 * ms_ns), SKUA_OK);
    int64_t began = now_ns();
    skua_stop(p.server, 50 * ms_ns);
    skua_status status = SKUA_OK;
    while (status == SKUA_OK && now_ns() < began + 20000 * ms_ns) {
        if (program_wait(&p, 1000)) status = skua_turn(p.server, 0);
    }
    assert_int_equal(status, SKUA_ECLOSED);
    assert_in_range(now_ns() - began, 49 * ms_ns, 20000 * ms_ns);
    close(client);
    skua_server_free(p.server);
}

static void a_stop_ends_as_soon_as_the_last_answer_has_left(void **state)
{
    (void)state;
    program p;
    program_open(&p);
    int client = connect_to(&p);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    while (!p.held)
        assert_int_equal(skua_turn(p.server, 20 * ms_ns), SKUA_OK);
    skua_stop(p.server, 60000 * ms_ns);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    assert_int_equal(skua_respond(p.held, 200, NULL, SKUA_SLICE("Last")), SKUA_OK);
    int64_t began = now_ns();
    while (skua_turn(p.server, -1) == SKUA_OK)
        assert_true(now_ns() < began + 30000 * ms_ns);
    close(client);
    skua_server_free(p.server);
}

static void *stop_in_a_while(void *user)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20 * ms_ns }, NULL);
    skua_stop(user, 0);
    return NULL;
}

// Callers put what they are told into smaller numbers, as the kernel does.
static void the_longest_times_are_bounded(void **state)
{
    (void)state;
    const int64_t day_ns = 86400000 * ms_ns;
    program p;
    pthread_t thread;
    program_open(&p);
    assert_int_equal(skua_timer_start(p.worker, INT64_MAX, 0, tick, &p, &p.timer), SKUA_OK);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    assert_in_range(skua_timeout_ns(p.server), 0, day_ns);
    assert_true(skua_timer_stop(p.timer));
    int client = connect_to(&p);
    send_text(client, "GET /hold HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (!p.held)
        assert_int_equal(skua_turn(p.server, 20 * ms_ns), SKUA_OK);
    skua_stop(p.server, INT64_MAX);
    assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    assert_in_range(skua_timeout_ns(p.server), 0, day_ns);
    assert_int_equal(pthread_create(&thread, NULL, stop_in_a_while, p.server), 0);
    while (skua_turn(p.server, INT64_MAX) == SKUA_OK) {
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(skua_open(p.server), SKUA_OK);
    assert_int_equal(pthread_create(&thread, NULL, stop_in_a_while, p.server), 0);
    while (skua_turn(p.server, INT64_MAX) == SKUA_OK) { // nothing else limits it
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(client);
    skua_server_free(p.server);
}

// ---- SIGPIPE ----

static void send_file(skua_request *request, void *user)
{
    assert_int_equal(skua_respond_file(request, 200, NULL, user, 0, 8 << 20), SKUA_OK);
}

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker;
    (void)info;
    assert_int_equal(status, SKUA_OK);
    *(skua_file **)user = file;
}

// The peer resets while a large file is sent to it; SIGPIPE is at its default. After a half-close
// the error that a reset leaves is EPIPE, which comes with the signal. Turns are short, so that
// they begin with sending.
static void a_peer_that_resets_raises_no_signal(void **state)
{
    (void)state;
    char folder[] = "/tmp/skua-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(ftruncate(fd, 8 << 20), 0);
    close(fd);
    signal_default(SIGPIPE);
    program p;
    program_open(&p);
    skua_root *root;
    skua_file *file = NULL;
    assert_int_equal(skua_root_open(folder, &root), SKUA_OK);
    skua_file_open(p.worker, root, SKUA_SLICE("file"), file_opened, &file);
    while (!file)
        assert_int_equal(skua_turn(p.server, 0), SKUA_OK);
    skua_server *server = skua_server_new(&(skua_config){
        .listen = "127.0.0.1:0", .backend = backend, .send_turn_octets_max = 65536 });
    assert_int_equal(skua_route(server, "/", send_file, file), SKUA_OK);
    assert_int_equal(skua_open(server), SKUA_OK);
    for (int round = 0; round < 20; round++) {
        int client = socket_connect_to(skua_server_address(server, 0));
        send_text(client, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_int_equal(shutdown(client, SHUT_WR), 0);
        for (int turn = 0; turn < 3; turn++)
            assert_int_equal(skua_turn(server, ms_ns), SKUA_OK);
        socket_reset(client);
        for (int turn = 0; turn < 3; turn++)
            assert_int_equal(skua_turn(server, ms_ns), SKUA_OK);
    }
    skua_server_free(server);
    skua_file_unref(file);
    skua_root_close(root);
    skua_server_free(p.server);
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    assert_int_equal(sigismember(&pending, SIGPIPE), 0);
    unlink(path);
    rmdir(folder);
}

// ---- Broken contracts ----

static void turn_again(skua_worker *worker, void *user)
{
    (void)worker;
    program *p = user;
    assert_int_equal(skua_turn(p->server, 0), SKUA_OK);
}

static void *turn_elsewhere(void *user)
{
    program *p = user;
    assert_int_equal(skua_turn(p->server, 0), SKUA_OK);
    return NULL;
}

static void reenter(program *p)
{
    assert_int_equal(skua_timer_start(p->worker, 0, 0, turn_again, p, NULL), SKUA_OK);
    while (skua_turn(p->server, -1) == SKUA_OK) {
    }
}

static void turn_in_another_thread(program *p)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, turn_elsewhere, p), 0);
    pthread_join(thread, NULL);
}

static void assert_dies(void (*wrong)(program *p))
{
    pid_t child = fork();
    if (child == 0) {
        signal_default(SIGABRT);
        program p;
        program_open(&p);
        fclose(stderr);
        wrong(&p);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void other_threads_and_callbacks_may_not_turn(void **state)
{
    (void)state;
    assert_dies(reenter);
    assert_dies(turn_in_another_thread);
}

// Whether it is one of this system's, and one that can be turned by another loop.
static bool backend_is_there(const char *name)
{
    skua_server *server =
        skua_server_new(&(skua_config){ .listen = "127.0.0.1:0", .backend = name });
    bool there = skua_open(server) == SKUA_OK && strcmp(skua_server_backend(server), name) == 0;
    skua_server_free(server);
    return there;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poll_alone_serves_requests),
        cmocka_unit_test(whoever_waits_is_woken),
        cmocka_unit_test(several_servers_share_a_thread),
        cmocka_unit_test(an_answer_from_outside_is_sent_by_the_next_turn),
        cmocka_unit_test(a_turn_starts_what_its_timers_have_answered),
        cmocka_unit_test(timers_are_precise),
        cmocka_unit_test(a_repeating_timer_keeps_its_beat_and_stops_itself),
        cmocka_unit_test(missed_beats_are_left_out),
        cmocka_unit_test(a_stop_from_another_thread_is_readable),
        cmocka_unit_test(a_stop_waits_for_what_runs_until_its_grace_is_over),
        cmocka_unit_test(a_stop_ends_as_soon_as_the_last_answer_has_left),
        cmocka_unit_test(the_longest_times_are_bounded),
        cmocka_unit_test(a_peer_that_resets_raises_no_signal),
        cmocka_unit_test(other_threads_and_callbacks_may_not_turn),
    };
    static const char *const backends[] = { "epoll", "kqueue" };
    int failed = 0, run = 0;
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        if (!backend_is_there(backends[i])) continue;
        backend = backends[i];
        failed += cmocka_run_group_tests_name(backend, tests, NULL, NULL);
        run++;
    }
    return run ? failed : 1;
}
