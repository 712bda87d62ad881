// SPDX-License-Identifier: MIT
//
// System calls that fail as a kernel may let them, wrapped by the linker. What a kernel has no memory
// for waits and goes on later, and does not spin meanwhile. An error that is told of but not shown
// by receiving is an error.

#include "io/uring_kernel.h"
#include "io/uring_stream.h"
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TURNS = 50, TRIES_MAX = 20 }; // waits that double from 1 ms

// The errors that calls fail with; 0: they do not.
static int shortage;      // of receives and sends
static int ring_shortage; // of entering a ring
static unsigned tries;
static bool resets_are_lost; // receiving from a dead connection looks like its orderly end

static bool fails(int error)
{
    if (!error) return false;
    tries++;
    errno = error;
    return true;
}

ssize_t __real_recv(int fd, void *buffer, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t len, int flags);
ssize_t __wrap_recv(int fd, void *buffer, size_t len, int flags)
{
    if (fails(shortage)) return -1;
    ssize_t n = __real_recv(fd, buffer, len, flags);
    return n < 0 && errno == ECONNRESET && resets_are_lost ? 0 : n;
}

ssize_t __real_send(int fd, const void *buffer, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buffer, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *buffer, size_t len, int flags)
{
    return fails(shortage) ? -1 : __real_send(fd, buffer, len, flags);
}

// Of calls that the library makes by number, only entering a ring has six arguments.
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    if (number == URING_SYS_ENTER && fails(ring_shortage)) return -1;
    return __real_syscall(number, a, b, c, d, e, f);
}

// Turns for some 100 ms, in which it is tried a few times only.
static void turn_through(rig *r)
{
    tries = 0;
    int64_t began = io_clock_ns();
    while (io_clock_ns() - began < (int64_t)TURNS * RIG_TURN_NS)
        rig_turn(r);
    assert_in_range(tries, 1, TRIES_MAX);
}

static void check_receive(rig *r, int error)
{
    int fd = rig_connect(r); // its octets are there when it is accepted: system calls serve it
    write_all(fd, "octets", 6);
    shortage = error;
    RIG_UNTIL(r, r->accepted);
    turn_through(r);
    peer *p = r->last;
    assert_false(p->reset);
    shortage = 0;
    RIG_UNTIL(r, p->got_octets == 6);
    rig_close(r, p);
    (void)close(fd);
}

static void check_receive_without_buffers(rig *r)
{
    check_receive(r, ENOBUFS);
}

static void check_receive_without_memory(rig *r)
{
    check_receive(r, ENOMEM);
}

static void check_send(rig *r)
{
    char room[8];
    r->shy = true;
    int fd = rig_client(r);
    peer *p = r->last;
    shortage = ENOBUFS;
    assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
    io_send(&r->loop, &p->stream);
    turn_through(r);
    assert_false(p->reset);
    shortage = 0;
    RIG_UNTIL(r, p->sent == 6);
    assert_int_equal(recv(fd, room, sizeof room, 0), 6);
    rig_close(r, p);
    (void)close(fd);
}

// One that is closed meanwhile is not forgotten.
static void check_closing(rig *r)
{
    int fd = rig_connect(r);
    write_all(fd, "octets", 6);
    shortage = ENOBUFS;
    RIG_UNTIL(r, r->accepted);
    rig_turns(r, 3);
    rig_close(r, r->last);
    shortage = 0;
    (void)close(fd);
}

static void check_lost_reset(rig *r)
{
    resets_are_lost = true;
    for (int octets = 0; octets < 2; octets++) {
        int fd = rig_client(r);
        peer *p = r->last;
        rig_turns(r, 3);
        if (octets) write_all(fd, "late", 4);
        reset_client(fd);
        RIG_UNTIL(r, p->reset || p->fin);
        assert_true(p->reset);
        rig_close(r, p);
    }
    resets_are_lost = false;
}

ON_EACH(lost_reset)
ON_EACH(receive_without_buffers)
ON_EACH(receive_without_memory)
ON_EACH(send)
ON_EACH(closing)

// ---- Of io_uring alone ----

static void test_submitting(void **state)
{
    (void)state;
    static const int errors[] = { EAGAIN, ENOMEM };
    for (int i = 0; i < 2; i++) {
        rig r;
        if (!rig_open(&r, RIG_MULTISHOT)) skip();
        int fd = rig_client(&r);
        rig_turns(&r, 3);
        ring_shortage = errors[i];
        tries = 0;
        int64_t began = io_clock_ns();
        rig_turns(&r, TURNS);
        assert_int_equal(tries, TURNS);
        assert_true(io_clock_ns() - began >= (int64_t)TURNS * RIG_TURN_NS / 2);
        ring_shortage = 0;
        write_all(fd, "octets", 6);
        RIG_UNTIL(&r, r.last->got_octets == 6);
        rig_close(&r, r.last);
        (void)close(fd);
        rig_finish(&r);
    }
}

// A send that was submitted, and that the kernel found no memory for.
static void test_submitted_send(void **state)
{
    (void)state;
    rig r;
    char room[8];
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    int fd = rig_client(&r);
    peer *p = r.last;
    rig_turns(&r, 3);
    assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
    p->stream.flags |= IO_WANT_SEND | URING_SENDS;
    uring_cqe cqe = { .user_data = uring_stream_key(URING_OF_SEND, &p->stream), .res = -ENOBUFS };
    uring_stream_completed(&r.loop, URING_OF_SEND, &cqe);
    assert_true(p->stream.flags & IO_LATER);
    assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
    assert_false(p->reset);
    RIG_UNTIL(&r, p->sent == 6);
    assert_int_equal(recv(fd, room, sizeof room, 0), 6);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(lost_reset),
        EACH(receive_without_buffers),
        EACH(receive_without_memory),
        EACH(send),
        EACH(closing),
        cmocka_unit_test(test_submitting),
        cmocka_unit_test(test_submitted_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
