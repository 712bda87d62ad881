// SPDX-License-Identifier: MIT
//
// A worker that cannot go on takes the server down, whole: every connection is closed, every
// promise to call back is kept, and whoever waits for the server is told.

#include "support/socket.h"

#include "io/file.h"
#include "io/uring_kernel.h"
#include "server/server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { WORKERS = 3, CLIENTS = 12 };

static const char *backend; // under test

typedef struct house {
    skua_server *server;
    skua_root *root;
    atomic_uint begun, ended, offloaded, opened, resumed;
    skua_ticket tickets[CLIENTS];
} house;

// ---- What is under way when it happens ----

static void request_ended(skua_request *request, skua_end how, void *user)
{
    house *h = user;
    (void)request;
    assert_int_not_equal(how, SKUA_END_SENT);
    atomic_fetch_add(&h->ended, 1);
}

static void work_long(void *user)
{
    (void)user;
    nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

static void file_opened(skua_worker *worker, skua_status status, skua_file *file,
                        const skua_file_info *info, void *user)
{
    (void)worker, (void)info;
    house *h = user;
    assert_int_equal(status, SKUA_OK);
    skua_file_unref(file);
    atomic_fetch_add(&h->opened, 1);
}

// Work that is begun by a worker that has failed meanwhile comes to an end as well.
static void work_done(skua_worker *worker, void *user)
{
    house *h = user;
    atomic_fetch_add(&h->offloaded, 1);
    skua_file_open(worker, h->root, SKUA_SLICE("."), file_opened, h);
}

// Never answers.
static void keep(skua_request *request, void *user)
{
    house *h = user;
    skua_on_end(request, request_ended, h);
    assert_int_equal(skua_offload(skua_request_worker(request), work_long, work_done, h), SKUA_OK);
    unsigned number = atomic_load(&h->begun);
    do {
        assert_true(number < CLIENTS);
    } while (!atomic_compare_exchange_weak(&h->begun, &number, number + 1));
    assert_int_equal(skua_ticket_take(request, &h->tickets[number]), SKUA_OK);
}

// With the request, which gets no answer, or without it.
static void resumed(skua_request *request, void *user)
{
    house *h = user;
    (void)request;
    atomic_fetch_add(&h->resumed, 1);
}

// The descriptor with which the loop waits is replaced by one that cannot be waited with.
static void break_loop(skua_worker *worker, void *user)
{
    (void)user;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const io_loop *loop = &worker->loop;
    int fd =
        loop->backend->fd ? loop->backend->fd(loop) : ((const uring_kernel *)loop->kernel)->ring.fd;
    assert_true(null >= 0 && fd >= 0);
    assert_int_equal(dup2(null, fd), fd);
    assert_int_equal(close(null), 0);
}

// ---- The house ----

static void house_open(house *h, const char *accept, unsigned workers)
{
    *h = (house){ 0 };
    skua_config config = {
        .listen = "127.0.0.1:0", .workers = workers, .backend = backend, .accept = accept
    };
    h->server = skua_server_new(&config);
    assert_non_null(h->server);
    assert_int_equal(skua_route(h->server, "/keep", keep, h), SKUA_OK);
}

static void clients_ask(const house *h, int clients[CLIENTS])
{
    static const char wire[] = "GET /keep HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = socket_connect_to(skua_server_address(h->server, 0));
        assert_int_equal(write(clients[i], wire, sizeof wire - 1), sizeof wire - 1);
    }
}

static void clients_are_closed(const int clients[CLIENTS])
{
    for (int i = 0; i < CLIENTS; i++) {
        char octet;
        assert_true(read(clients[i], &octet, 1) <= 0);
        close(clients[i]);
    }
}

static void wait_for(atomic_uint *count, unsigned wanted)
{
    for (int i = 0; i < 10000 && atomic_load(count) < wanted; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    assert_int_equal(atomic_load(count), wanted);
}

static void judge_reason(const house *h, unsigned index)
{
    char reason[128];
    (void)snprintf(reason, sizeof reason, "worker %u cannot go on: %s has failed", index,
                   skua_server_backend(h->server));
    assert_string_equal(skua_server_error(h->server), reason);
}

// ---- Tests ----

static void fail_one(const char *accept, unsigned index)
{
    house h;
    int clients[CLIENTS];
    house_open(&h, accept, WORKERS);
    assert_int_equal(skua_root_open("/", &h.root), SKUA_OK);
    assert_int_equal(skua_start(h.server), SKUA_OK);
    clients_ask(&h, clients);
    wait_for(&h.begun, CLIENTS);
    assert_int_equal(skua_post(h.server, index, break_loop, NULL), SKUA_OK);
    unsigned promised = 0;
    for (int i = 0; i < CLIENTS; i++)
        promised += skua_resume(h.tickets[i], resumed, &h) == SKUA_OK;
    assert_int_equal(skua_wait(h.server), SKUA_EIO);
    judge_reason(&h, index);
    assert_int_equal(atomic_load(&h.ended), CLIENTS);
    assert_int_equal(atomic_load(&h.offloaded), CLIENTS);
    assert_int_equal(atomic_load(&h.opened), CLIENTS);
    assert_int_equal(atomic_load(&h.resumed), promised);
    clients_are_closed(clients);
    skua_server_free(h.server);
    skua_root_close(h.root);
}

static void test_any_worker(void **state)
{
    (void)state;
    fail_one("reuseport", 1);
    fail_one("handoff", 0);
    file_method_set(FILE_METHOD_WALK); // every opening is another thread's
    fail_one("handoff", WORKERS - 1);
    file_method_set(FILE_METHOD_UNKNOWN);
}

// A ring that failed holds its listener until the kernel has taken it apart, on a thread of its
// own.
static skua_status start_patiently(skua_server *server)
{
    skua_status status = skua_start(server);
    for (int i = 0; i < 20000 && status == SKUA_EADDRINUSE; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        status = skua_start(server);
    }
    return status;
}

static void test_started_anew(void **state)
{
    (void)state;
    house h;
    house_open(&h, NULL, 2);
    assert_int_equal(skua_start(h.server), SKUA_OK);
    assert_int_equal(skua_post(h.server, 1, break_loop, NULL), SKUA_OK);
    assert_int_equal(skua_wait(h.server), SKUA_EIO);
    assert_int_equal(skua_post(h.server, 0, break_loop, NULL), SKUA_ECLOSED);
    assert_int_equal(start_patiently(h.server), SKUA_OK);
    assert_string_equal(skua_server_error(h.server), "");
    skua_stop(h.server, 0);
    assert_int_equal(skua_wait(h.server), SKUA_OK);
    skua_server_free(h.server);
}

static void test_turned_by_the_caller(void **state)
{
    (void)state;
    house h;
    skua_status status = SKUA_OK;
    house_open(&h, NULL, 1);
    assert_int_equal(skua_open(h.server), SKUA_OK);
    assert_int_equal(skua_post(h.server, 0, break_loop, NULL), SKUA_OK);
    for (int i = 0; i < 10000 && status == SKUA_OK; i++)
        status = skua_turn(h.server, skua_timeout_ns(h.server));
    assert_int_equal(status, SKUA_EIO);
    judge_reason(&h, 0);
    assert_int_equal(skua_turn(h.server, 0), SKUA_ECLOSED);
    skua_server_free(h.server);
}

static int over(const char *name)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_worker),
        cmocka_unit_test(test_started_anew),
        cmocka_unit_test(test_turned_by_the_caller),
    };
    const io_backend *found = io_backend_find(name);
    const char *call;
    if (!found || (found->probe && found->probe(&call))) return 0; // not to be had here
    backend = name;
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

int main(void)
{
    // Not over the tests' own kqueue, which looks its queues up by number and would not see that
    // one was replaced.
    return over("epoll") + over("uring");
}
