// SPDX-License-Identifier: MIT
//
// Connections that a worker has opened itself, beside those that it serves, when the worker is short
// of memory, or fails, and in a test bed.

#include "support/asker.h"

#include "io/sim.h"
#include "io/uring_kernel.h"
#include "server/connection.h"
#include "server/server.h"
#include "server/start.h"
#include "server/worker_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MEMORY_MAX = 1 << 20, ASKINGS = 3, WANTED = 10 };

static const int64_t second_ns = 1000000000, hour_ns = (int64_t)3600 * 1000000000;

static socket_address address_of(const char *text)
{
    socket_address address;
    assert_int_equal(socket_address_read(slice_of(text), &address), SKUA_OK);
    return address;
}

static void on_hello(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

#define HELLO "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"

// ---- Short of memory ----

static void turn_for(server_worker *w, const sim_kernel *kernel, int64_t ns)
{
    for (int64_t until = sim_now(kernel) + ns; sim_now(kernel) < until;)
        assert_true(worker_turn(w, second_ns / 100));
}

// Only connections that are served are closed for being idle, however long another one waits.
static void test_pressure_closes_what_is_served(void **state)
{
    (void)state;
    char got[WANTED];
    socket_address there = address_of("192.0.2.80:80");
    sim_kernel *kernel = sim_kernel_new(&(sim_config){ .seed = 1 });
    int listener = sim_listen(kernel), far = sim_far_open(kernel, &there);
    skua_server *server = skua_server_new(&(skua_config){ .memory_max = MEMORY_MAX });
    assert_int_equal(skua_route(server, "GET /", on_hello, NULL), SKUA_OK);
    assert_int_equal(server_start_on(server, &io_backend_sim, kernel, listener), SKUA_OK);
    server_worker *w = server->workers[0];
    asking a = { .got = got, .wanted = WANTED };
    assert_true(asking_begin(&a, w, &there, SKUA_SLICE("a question"), hour_ns));
    sim_client *served = sim_connect(kernel, listener);
    assert_true(sim_client_send(served, SKUA_SLICE(HELLO)));
    turn_for(w, kernel, second_ns);
    skua_memory_count(&w->self, MEMORY_MAX / 100 * 78);
    turn_for(w, kernel, second_ns);
    skua_memory_count(&w->self, -(MEMORY_MAX / 100 * 78));
    assert_true(sim_client_is_eof(served));
    assert_true(sim_client_send(sim_far_accept(kernel, far), SKUA_SLICE("the answer")));
    turn_for(w, kernel, second_ns);
    assert_int_equal(a.outcome, ASKING_ANSWERED);
    assert_false(asking_is_over(&a));
    skua_stop(server, 0);
    while (worker_turn(w, -1))
        ;
    assert_true(asking_is_over(&a));
    sim_listener_close(kernel, listener);
    skua_server_free(server);
    sim_kernel_free(kernel);
}

// ---- In a test bed ----

static void answer_late(skua_worker *worker, void *user)
{
    (void)worker;
    on_hello(user, NULL);
}

static void on_late(skua_request *request, void *user)
{
    (void)user;
    skua_worker *worker = skua_request_worker(request);
    assert_int_equal(skua_timer_start(worker, second_ns, 0, answer_late, request, NULL), SKUA_OK);
}

static void expect_hello(skua_server *server)
{
    skua_slice answer;
    assert_int_equal(skua_test_request(server, SKUA_SLICE(HELLO), &answer), SKUA_OK);
    assert_non_null(memmem(answer.ptr, answer.len, "Hello", 5));
    skua_test_free(answer);
}

// The connection that a worker has opened has the first slot of the pool, and stays.
static void test_bed_looks_at_what_is_served(void **state)
{
    (void)state;
    char got[WANTED];
    socket_address there = address_of("192.0.2.80:80");
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "GET /", on_late, NULL), SKUA_OK);
    expect_hello(server);
    server_worker *w = server->workers[0];
    sim_set_permille(w->self.loop.kernel, SIM_CONNECT_UNANSWERED, 1000);
    asking a = { .got = got, .wanted = WANTED };
    assert_true(asking_begin(&a, w, &there, SKUA_SLICE("a question"), hour_ns));
    expect_hello(server);
    expect_hello(server);
    assert_int_equal(a.outcome, ASKING_GOES_ON);
    skua_server_free(server);
    assert_int_equal(a.outcome, ASKING_ABORTED);
    assert_true(asking_is_over(&a));
}

// ---- A loop that fails ----

static const char *backend; // under test

typedef struct crowd {
    skua_server *server;
    atomic_uint kept;
    asking askings[ASKINGS]; // the worker's, until it has ended
    char got[ASKINGS][WANTED];
    socket_address address;
} crowd;

static void on_keep(skua_request *request, void *user)
{
    (void)request;
    crowd *c = user;
    atomic_fetch_add(&c->kept, 1);
}

// Asks the server itself, so that both ends belong to one worker.
static void ask_itself(skua_worker *self, void *user)
{
    crowd *c = user;
    for (int i = 0; i < ASKINGS; i++) {
        asking *a = &c->askings[i];
        *a = (asking){ .got = c->got[i], .wanted = WANTED };
        if (!asking_begin(a, worker_of(self), &c->address, SKUA_SLICE(HELLO), hour_ns)) abort();
    }
}

// Some of them have not even begun to connect when it fails.
static void ask_and_fail(skua_worker *self, void *user)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const io_loop *loop = &self->loop;
    int fd =
        loop->backend->fd ? loop->backend->fd(loop) : ((const uring_kernel *)loop->kernel)->ring.fd;
    if (user) ask_itself(self, user);
    if (null < 0 || fd < 0 || dup2(null, fd) != fd || close(null)) abort();
}

static void crowd_open(crowd *c)
{
    *c = (crowd){ .kept = 0 };
    skua_config config = { .listen = "127.0.0.1:0", .workers = 1, .backend = backend };
    c->server = skua_server_new(&config);
    assert_non_null(c->server);
    assert_int_equal(skua_route(c->server, "GET /", on_keep, c), SKUA_OK);
    assert_int_equal(skua_start(c->server), SKUA_OK);
    c->address = address_of(skua_server_address(c->server, 0));
}

static void crowd_await(crowd *c)
{
    for (int i = 0; i < 10000 && atomic_load(&c->kept) < ASKINGS; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(atomic_load(&c->kept), ASKINGS);
}

static void crowd_close(crowd *c, skua_status status)
{
    assert_int_equal(skua_wait(c->server), status);
    for (int i = 0; i < ASKINGS; i++) {
        assert_true(asking_is_over(&c->askings[i]));
        assert_int_not_equal(c->askings[i].outcome, ASKING_GOES_ON);
        assert_int_not_equal(c->askings[i].outcome, ASKING_ANSWERED);
    }
    skua_server_free(c->server);
}

static void test_fails_while_connecting(void **state)
{
    (void)state;
    crowd c;
    crowd_open(&c);
    assert_int_equal(skua_post(c.server, 0, ask_and_fail, &c), SKUA_OK);
    crowd_close(&c, SKUA_EIO);
}

static void test_fails_while_asking(void **state)
{
    (void)state;
    crowd c;
    crowd_open(&c);
    assert_int_equal(skua_post(c.server, 0, ask_itself, &c), SKUA_OK);
    crowd_await(&c);
    assert_int_equal(skua_post(c.server, 0, ask_and_fail, NULL), SKUA_OK);
    crowd_close(&c, SKUA_EIO);
}

static void test_stops_while_asking(void **state)
{
    (void)state;
    crowd c;
    crowd_open(&c);
    assert_int_equal(skua_post(c.server, 0, ask_itself, &c), SKUA_OK);
    crowd_await(&c);
    skua_stop(c.server, 0);
    crowd_close(&c, SKUA_OK);
}

static int on_backend(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fails_while_connecting),
        cmocka_unit_test(test_fails_while_asking),
        cmocka_unit_test(test_stops_while_asking),
    };
    const io_backend *found = io_backend_find(name);
    const char *call;
    if (!found || (found->probe && found->probe(&call))) return 0; // not to be had here
    backend = name;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pressure_closes_what_is_served),
        cmocka_unit_test(test_bed_looks_at_what_is_served),
    };
    // kqueue is left out, as in test_failure.c.
    return cmocka_run_group_tests(tests, NULL, NULL) + on_backend("epoll") + on_backend("uring");
}
