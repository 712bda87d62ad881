// SPDX-License-Identifier: MIT
//
// Stops, over real sockets and on each backend: whatever else happens at the time, a server that
// was told to end does. One that does not is ended by an alarm. SKUA_SOAK_ROUNDS=N plays longer.

#include "support/socket.h"
#include "support/support.h"

#include "server/server.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
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

static int over(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posters_do_not_hold_it_up),
        cmocka_unit_test(test_a_log_that_ends_is_left_alone),
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
