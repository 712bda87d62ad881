// SPDX-License-Identifier: MIT
//
// System calls that fail as a kernel may let them, wrapped by the linker. What a kernel has no memory
// for waits and goes on later, and does not spin meanwhile. An error that is told of but not shown
// by receiving is an error. A file that cannot be read is not a peer that has gone.

#include "io/uring_kernel.h"
#include "io/uring_stream.h"
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 50, TRIES_MAX = 20, LATE_TRIES_MAX = 10 }; // waits that double from 1 ms

// The errors that calls fail with; 0: they do not.
static int shortage;      // of receives and sends
static int ring_shortage; // of entering a ring
static int file_error;    // of sending a file
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

// One call, under the name that it has where offsets are asked to be of 64 bits, and by itself.
ssize_t __real_sendfile(int to, int file, off_t *offset, size_t len);
ssize_t __wrap_sendfile(int to, int file, off_t *offset, size_t len);
ssize_t __wrap_sendfile(int to, int file, off_t *offset, size_t len)
{
    return fails(file_error) ? -1 : __real_sendfile(to, file, offset, len);
}

ssize_t __real_sendfile64(int to, int file, int64_t *offset, size_t len);
ssize_t __wrap_sendfile64(int to, int file, int64_t *offset, size_t len);
ssize_t __wrap_sendfile64(int to, int file, int64_t *offset, size_t len)
{
    return fails(file_error) ? -1 : __real_sendfile64(to, file, offset, len);
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

// A machine that is busy comes late to each of the waits, which grow all the same.
static void check_late_turns(rig *r)
{
    r->shy = true;
    int fd = rig_client(r);
    peer *p = r->last;
    shortage = ENOBUFS;
    assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
    io_send(&r->loop, &p->stream);
    tries = 0;
    int64_t began = io_clock_ns();
    while (io_clock_ns() - began < (int64_t)TURNS * RIG_TURN_NS) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
        rig_turn(r);
    }
    assert_in_range(tries, 1, LATE_TRIES_MAX);
    shortage = 0;
    RIG_UNTIL(r, p->sent == 6);
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

// ---- Files ----

static void begin_to_send(rig *r, peer *p, int file)
{
    assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
    out_file(&p->out, file, 0, 100000, NULL, NULL);
    io_send(&r->loop, &p->stream);
}

static void expect_file_failed(rig *r, const peer *p)
{
    RIG_UNTIL(r, p->send_failed || p->reset);
    assert_true(p->send_failed);
    assert_false(p->reset);
    assert_int_equal(p->out.octets, 100000);
}

// Some are errors of sockets too.
static void check_file_that_fails(rig *r)
{
    static const int errors[] = { EIO, ESTALE, ENOTCONN, ETIMEDOUT, EHOSTUNREACH };
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        int fd = rig_client(r);
        file_error = errors[i];
        begin_to_send(r, r->last, file);
        expect_file_failed(r, r->last);
        file_error = 0;
        rig_close(r, r->last);
        (void)close(fd);
    }
    (void)close(file);
}

// The kernel says so by itself.
static void check_file_that_cannot_be_read(rig *r)
{
    int fd = rig_client(r), file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    begin_to_send(r, r->last, file);
    expect_file_failed(r, r->last);
    rig_close(r, r->last);
    (void)close(fd);
    (void)close(file);
}

// The peer has gone when the file is to be sent, and its socket says so in the words of a disk.
static void check_file_for_a_peer_that_has_gone(rig *r)
{
    static const int errors[] = { EPIPE, ECONNRESET, ETIMEDOUT };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        r->shy = true;
        int fd = rig_client(r), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        peer *p = r->last;
        file_error = errors[i];
        reset_client(fd);
        out_file(&p->out, file, 0, 100000, NULL, NULL);
        io_send(&r->loop, &p->stream);
        RIG_UNTIL(r, p->send_failed || p->reset);
        assert_true(p->reset);
        assert_false(p->send_failed);
        file_error = 0;
        rig_close(r, p);
        (void)close(file);
    }
}

ON_EACH(file_that_fails)
ON_EACH(file_that_cannot_be_read)
ON_EACH(file_for_a_peer_that_has_gone)
ON_EACH(lost_reset)
ON_EACH(receive_without_buffers)
ON_EACH(receive_without_memory)
ON_EACH(send)
ON_EACH(late_turns)
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
        EACH(file_that_fails),
        EACH(file_that_cannot_be_read),
        EACH(file_for_a_peer_that_has_gone),
        EACH(lost_reset),
        EACH(receive_without_buffers),
        EACH(receive_without_memory),
        EACH(send),
        EACH(late_turns),
        EACH(closing),
        cmocka_unit_test(test_submitting),
        cmocka_unit_test(test_submitted_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
