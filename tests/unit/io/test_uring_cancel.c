// SPDX-License-Identifier: MIT
//
// Cancels that find nothing, as happens when the kernel has an operation in hand just then: they are
// tried again. Entering a ring is wrapped by the linker, so that the first cancel of each test names
// what is not there.

#include "io/uring_kernel.h"
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

static uring_ring *ring; // whose next cancel is to find nothing; NULL: none's
static int enter_fails;  // with that error, once

static void spoil_cancels(void)
{
    for (uint32_t i = atomic_load(ring->sq_head); i != ring->sq_local; i++) {
        uring_sqe *sqe = &ring->sqes[i & ring->sq_mask];
        if (sqe->opcode != URING_ASYNC_CANCEL) continue;
        sqe->addr = UINT64_MAX;
        sqe->op_flags = 0;
        ring = NULL;
        return;
    }
}

// Of calls that the library makes by number, only entering a ring has six arguments.
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == URING_SYS_ENTER && ring) spoil_cancels();
    if (number == URING_SYS_ENTER && enter_fails) {
        errno = enter_fails;
        enter_fails = 0;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

static void run_on_both(check *checks)
{
    rig_run(RIG_MULTISHOT, checks);
    rig_run(RIG_EACH, checks);
}

static void check_close(rig *r)
{
    char room[8];
    for (int stopped = 0; stopped < 2; stopped++) {
        int fd = rig_client(r);
        rig_turns(r, 3);
        if (stopped) io_recv_stop(&r->last->stream);
        io_kick(&r->loop, &r->last->stream); // arms what tells of the end, too
        rig_turns(r, 3);
        ring = &((uring_kernel *)r->loop.kernel)->ring;
        rig_close(r, r->last);
        assert_null(ring);
        assert_int_equal(recv(fd, room, sizeof room, 0), 0);
        (void)close(fd);
    }
}

static void test_close(void **state)
{
    (void)state;
    run_on_both(check_close);
}

static void never_done(io_op *op, int64_t result)
{
    (void)op, (void)result;
    fail_msg("a cancelled poll completes");
}

static void check_poll(rig *r)
{
    uring_kernel *kernel = r->loop.kernel;
    int ends[2];
    io_op watch = { .code = IO_POLL, .done = never_done };
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    watch.fd = ends[0];
    io_submit(&r->loop, &watch);
    rig_turns(r, 2);
    assert_true(kernel->ops[watch.slot].armed);
    ring = &kernel->ring;
    io_cancel(&r->loop, &watch);
    RIG_UNTIL(r, !kernel->ops[watch.slot].armed);
    assert_null(ring);
    assert_int_equal(kernel->polls, 0);
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
}

static void test_poll(void **state)
{
    (void)state;
    run_on_both(check_poll);
}

// The caller that ends accepting waits for it.
static void check_accept(rig *r)
{
    int fd = rig_client(r);
    rig_turns(r, 3);
    ring = &((uring_kernel *)r->loop.kernel)->ring;
    io_cancel(&r->loop, &r->accept);
    assert_null(ring);
    assert_false(r->accept.active);
    rig_close(r, r->last);
    (void)close(fd);
}

static void test_accept(void **state)
{
    (void)state;
    run_on_both(check_accept);
}

// The kernel had no memory to keep a completion that found no room, and nobody can tell whose it
// was: the loop cannot go on, and says so.
static void check_lost_completion(rig *r)
{
    enter_fails = EBADR;
    assert_int_equal(io_turn(&r->loop, 0), SKUA_EIO);
}

static void test_lost_completion(void **state)
{
    (void)state;
    run_on_both(check_lost_completion);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close),
        cmocka_unit_test(test_poll),
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_lost_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
