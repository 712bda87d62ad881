// SPDX-License-Identifier: MIT
//
// Rings and the program's own threads: whoever opens one, tries one or closes one goes on to wait
// for something else, and that call must not fail with EINTR when the kernel takes the ring apart.

#include "io/uring_kernel.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { ROUNDS = 3, PATIENCE_MS = 60 }; // the kernel needs some 30

static bool ring_is_to_be_had(void)
{
    const char *call;
    return uring_ring_probe(&call) == SKUA_OK;
}

// Two calls that, unlike most, are not taken up again by the kernel.
static void assert_waits_undisturbed(void)
{
    struct timeval patience = { .tv_usec = PATIENCE_MS * 1000 };
    struct epoll_event event;
    char octet;
    int pair[2], queue = epoll_create1(EPOLL_CLOEXEC);
    assert_true(queue >= 0);
    assert_int_equal(epoll_wait(queue, &event, 1, PATIENCE_MS), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(recv(pair[0], &octet, 1, 0), -1);
    assert_int_equal(errno, EAGAIN);
    for (int i = 0; i < 2; i++)
        (void)close(pair[i]);
    (void)close(queue);
}

static void test_probing(void **state)
{
    (void)state;
    if (!ring_is_to_be_had()) skip();
    for (int i = 0; i < ROUNDS; i++) {
        assert_true(ring_is_to_be_had());
        assert_waits_undisturbed();
    }
}

static void test_opening_alone(void **state)
{
    (void)state;
    const char *call;
    uring_ring ring;
    if (!ring_is_to_be_had()) skip();
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(uring_ring_open(&ring, &call), SKUA_OK);
        uring_ring_close(&ring);
        assert_waits_undisturbed();
    }
}

// ---- As workers do it ----

typedef struct elsewhere {
    io_loop loop;
    io_op wake;
    unsigned woken;
    pool none;
} elsewhere;

static void note_wake(io_op *op, int64_t result)
{
    elsewhere *e = op->user;
    assert_int_equal(result, 0);
    e->woken++;
}

static void *turn_elsewhere(void *user)
{
    elsewhere *e = user;
    assert_int_equal(io_settle(&e->loop), SKUA_OK);
    while (!e->woken)
        assert_int_equal(io_turn(&e->loop, 1000000000), SKUA_OK);
    return NULL;
}

// A loop that is opened by one thread, turned by another that ends, and closed by the first. A
// wake-up from before anybody waits is not lost.
static void test_used_elsewhere(void **state)
{
    (void)state;
    static const io_stream_events no_events;
    if (!ring_is_to_be_had()) skip();
    for (int i = 0; i < ROUNDS; i++) {
        elsewhere e = { .woken = 0 };
        pthread_t thread;
        pool_init(&e.none, sizeof(io_stream), 1);
        e.loop.events[0] = &no_events;
        e.loop.streams = &e.none;
        assert_int_equal(io_loop_open(&e.loop, &io_backend_uring), SKUA_OK);
        io_timers_init(&e.loop.timers, e.loop.now_ns, NULL, &e);
        e.wake = (io_op){ .code = IO_WAKE, .done = note_wake, .user = &e, .fd = -1 };
        io_submit(&e.loop, &e.wake);
        assert_int_equal(io_turn(&e.loop, 0), SKUA_OK);
        assert_true(e.wake.fd >= 0);
        io_wake(&e.wake);
        assert_int_equal(pthread_create(&thread, NULL, turn_elsewhere, &e), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        io_cancel(&e.loop, &e.wake);
        io_loop_close(&e.loop);
        pool_deinit(&e.none);
        assert_waits_undisturbed();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probing),
        cmocka_unit_test(test_opening_alone),
        cmocka_unit_test(test_used_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
