// SPDX-License-Identifier: MIT
//
// Promises of io.h about operations that are no stream's (accepting, waking, polling), asked of
// real descriptors on each backend.

#include "io/readiness.h"
#include "rig.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// ---- Accepting ----

// A client that has connected by the time accepting ends is delivered.
static void check_cancel_accept(rig *r)
{
    enum { CLIENTS = 20 };
    int fds[CLIENTS];
    fds[0] = rig_client(r);
    for (int i = 1; i < CLIENTS; i++)
        fds[i] = rig_connect(r);
    io_cancel(&r->loop, &r->accept);
    assert_int_equal(r->accepted, CLIENTS);
    assert_false(r->accept.active);
    int late = rig_connect(r); // into the listener's queue, where nobody takes it
    rig_turns(r, 5);
    assert_int_equal(r->accepted, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        (void)close(fds[i]);
    (void)close(late);
    rig_close_all(r);
    assert_int_equal(r->closed, CLIENTS);
}

// Who it was is known even of those who have reset the connection by then.
static void check_accept_the_dead(rig *r)
{
    rig_turns(r, 3);
    for (unsigned i = 1; i <= 3; i++) {
        int fd = rig_connect(r);
        write_all(fd, "gone", 4);
        reset_client(fd);
        RIG_UNTIL(r, r->accepted == i); // rig_accepted looks at the address
        rig_close(r, r->last);
    }
}

// Leaves one number that a descriptor can still get; the limit counts from when accepting is armed.
static int fill_descriptors(int fillers[64], struct rlimit *before, int highest)
{
    int n = 0;
    do {
        assert_true(n < 64);
        fillers[n] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    } while (fillers[n++] <= highest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    struct rlimit few = { .rlim_cur = (rlim_t)fillers[n - 1] + 1, .rlim_max = before->rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    (void)close(fillers[--n]);
    return n;
}

static void connect_socket(rig *r, int fd)
{
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)r->address.octets, r->address.len), 0);
}

static void check_out_of_descriptors(rig *r)
{
    enum { CLIENTS = 4 };
    struct rlimit before;
    int crowd[CLIENTS], fillers[64];
    for (int i = 0; i < CLIENTS; i++)
        crowd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int filled = fill_descriptors(fillers, &before, crowd[CLIENTS - 1]);
    connect_socket(r, crowd[0]);
    RIG_UNTIL(r, r->accepted == 1);
    peer *first = r->last;
    for (int i = 1; i < CLIENTS; i++)
        connect_socket(r, crowd[i]);
    RIG_UNTIL(r, r->evictions > 0);
    unsigned evictions = r->evictions;
    int64_t began = io_clock_ns();
    rig_turns(r, 10); // some 20 ms: it waits and does not spin
    int64_t retries = (io_clock_ns() - began) / 100000000;
    assert_true(r->evictions <= evictions + 2 + retries);
    write_all(crowd[0], "here", 4);
    RIG_UNTIL(r, first->got_octets == 4); // who is connected is served
    assert_int_equal(r->accepted, 1);
    rig_close(r, first);
    RIG_UNTIL(r, r->accepted == 2); // at once, as a number is free
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    RIG_UNTIL(r, r->accepted == CLIENTS); // by the timer
    for (int i = 0; i < CLIENTS; i++)
        (void)close(crowd[i]);
    while (filled)
        (void)close(fillers[--filled]);
    rig_close_all(r);
}

// A listener that cannot be accepted from is given up, and nothing spins.
static void check_broken_listener(rig *r)
{
    int fd = rig_client(r);
    assert_int_equal(shutdown(r->accept.fd, SHUT_RDWR), 0);
    RIG_UNTIL(r, r->refusal);
    assert_int_equal(r->refusal, -(int64_t)SKUA_EIO);
    int64_t began = io_clock_ns();
    rig_turns(r, 10);
    // some may be shorter, as a signal ends a wait
    assert_true(io_clock_ns() - began >= 5 * RIG_TURN_NS);
    write_all(fd, "here", 4);
    RIG_UNTIL(r, r->last->got_octets == 4); // who is connected is served
    rig_close(r, r->last);
    (void)close(fd);
}

// Somebody has closed the descriptor, whose number is another file's by now. io_uring holds the
// listener itself and accepts from it as before; the others find out when they look.
static void check_closed_listener(rig *r)
{
    rig_turns(r, 3);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC), own = dup(r->accept.fd);
    assert_true(null >= 0 && own >= 0);
    if (r->kind == RIG_EPOLL || r->kind == RIG_KQUEUE) {
        (void)close(own); // or the connections would wait behind it
        assert_int_equal(dup2(null, r->accept.fd), r->accept.fd);
        ((readiness *)r->loop.kernel)->look_ns = 1;
        RIG_UNTIL(r, r->refusal);
        assert_int_equal(r->refusal, -(int64_t)SKUA_EIO);
    } else {
        assert_int_equal(dup2(null, r->accept.fd), r->accept.fd);
        (void)close(rig_client(r));
        rig_close(r, r->last);
        assert_int_equal(dup2(own, r->accept.fd), r->accept.fd);
        (void)close(own);
    }
    (void)close(null);
}

// ---- Other operations ----

static void count_done(io_op *op, int64_t result)
{
    assert_int_equal(result, 0);
    ++*(unsigned *)op->user;
}

static void *wake_often(void *user)
{
    for (int i = 0; i < 200; i++)
        io_wake(user);
    return NULL;
}

static void check_wake(rig *r)
{
    unsigned woken = 0;
    io_op wake = { .code = IO_WAKE, .done = count_done, .user = &woken, .fd = -1 };
    pthread_t thread;
    io_submit(&r->loop, &wake);
    assert_int_equal(io_turn(&r->loop, 0), SKUA_OK);
    assert_int_equal(pthread_create(&thread, NULL, wake_often, &wake), 0);
    RIG_UNTIL(r, woken > 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    rig_turns(r, 5);
    unsigned before = woken;
    io_wake(&wake);
    RIG_UNTIL(r, woken == before + 1);
    io_cancel(&r->loop, &wake);
    rig_turns(r, 3);
    assert_int_equal(woken, before + 1);
}

typedef struct poll_order {
    peer *peer;
    size_t got_before;
    unsigned done;
} poll_order;

static void note_order(io_op *op, int64_t result)
{
    poll_order *order = op->user;
    assert_int_equal(result, 0);
    order->got_before = order->peer->got_octets;
    order->done++;
}

// Events of other descriptors are told before the octets that came with them.
static void check_poll_comes_first(rig *r)
{
    int ends[2];
    int fd = rig_client(r);
    poll_order order = { .peer = r->last };
    io_op watch = { .code = IO_POLL, .done = note_order, .user = &order };
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watch.fd = ends[0];
    io_submit(&r->loop, &watch);
    rig_turns(r, 3);
    write_all(fd, "request", 7);
    assert_int_equal(write(ends[1], "x", 1), 1);
    RIG_UNTIL(r, order.peer->got_octets == 7);
    assert_int_equal(order.done, 1);
    assert_int_equal(order.got_before, 0);
    assert_false(watch.active);
    io_submit(&r->loop, &watch); // it is ready still
    RIG_UNTIL(r, order.done == 2);
    rig_close(r, order.peer);
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
    (void)close(fd);
}

static void check_cancelled_poll(rig *r)
{
    int ends[2];
    unsigned done = 0;
    io_op watch = { .code = IO_POLL, .done = count_done, .user = &done };
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watch.fd = ends[0];
    for (int turns = 0; turns < 3; turns++) {
        io_submit(&r->loop, &watch);
        rig_turns(r, turns);
        if (turns == 2) assert_int_equal(write(ends[1], "x", 1), 1);
        io_cancel(&r->loop, &watch);
        rig_turns(r, 2);
        assert_int_equal(done, 0);
    }
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
}

// A poll that is kept is told in each turn in which its descriptor is readable, until it is cancelled.
static void check_kept_poll(rig *r)
{
    int ends[2];
    char octet;
    unsigned done = 0;
    io_op watch = { .code = IO_POLL, .kept = true, .done = count_done, .user = &done };
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watch.fd = ends[0];
    io_submit(&r->loop, &watch);
    rig_turns(r, 3);
    assert_int_equal(done, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    RIG_UNTIL(r, done == 3);
    assert_true(watch.active);
    assert_int_equal(read(ends[0], &octet, 1), 1);
    rig_turns(r, 2); // io_uring has looked already
    done = 0;
    rig_turns(r, 3);
    assert_int_equal(done, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    RIG_UNTIL(r, done == 1);
    io_cancel(&r->loop, &watch);
    rig_turns(r, 3);
    assert_int_equal(done, 1);
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
}

ON_EACH(cancel_accept)
ON_EACH(accept_the_dead)
ON_EACH(out_of_descriptors)
ON_EACH(broken_listener)
ON_EACH(closed_listener)
ON_EACH(wake)
ON_EACH(poll_comes_first)
ON_EACH(cancelled_poll)
ON_EACH(kept_poll)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(cancel_accept),    EACH(accept_the_dead), EACH(out_of_descriptors),
        EACH(broken_listener),  EACH(closed_listener), EACH(wake),
        EACH(poll_comes_first), EACH(cancelled_poll),  EACH(kept_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
