// SPDX-License-Identifier: MIT
//
// Faults that only io_uring could have. The rest is tested in test_streams and test_operations, on
// each backend.

#include "io/uring_kernel.h"
#include "rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

// Sends that the kernel would not take point to what may be gone by the next turn: they become
// nothing, and are made again.
static void test_sends_not_taken(void **state)
{
    (void)state;
    rig r;
    char room[8] = "";
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    int fd = rig_client(&r);
    peer *p = r.last;
    rig_turns(&r, 3);
    assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
    io_send(&r.loop, &p->stream);
    int ring = kernel->ring.fd;
    kernel->ring.fd = -1; // as good as a kernel without memory
    assert_int_equal(io_turn(&r.loop, 0), SKUA_EIO);
    kernel->ring.fd = ring;
    assert_int_equal(uring_ring_queued(&kernel->ring), 1);
    uint32_t at = (kernel->ring.sq_local - 1) & kernel->ring.sq_mask;
    assert_int_equal(kernel->ring.sqes[at].opcode, URING_NOP);
    assert_int_equal(kernel->ring.sqes[at].addr, 0);
    RIG_UNTIL(&r, p->sent == 6);
    assert_int_equal(recv(fd, room, sizeof room, 0), 6);
    assert_memory_equal(room, "octets", 6);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
}

// Octets that have left although the ring could not be entered.
static uint64_t sent_without_the_ring(size_t octets)
{
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    int fd = rig_client(&r);
    peer *p = r.last;
    char *pattern = pattern_of(octets), *got = malloc(octets);
    rig_turns(&r, 3);
    assert_true(out_copy(&p->out, slice_make(pattern, octets)));
    io_send(&r.loop, &p->stream);
    int ring = kernel->ring.fd;
    kernel->ring.fd = -1;
    (void)io_turn(&r.loop, 0);
    kernel->ring.fd = ring;
    uint64_t sent = p->sent;
    RIG_UNTIL(&r, p->sent == octets);
    assert_int_equal(recv(fd, got, octets, MSG_WAITALL), octets);
    assert_memory_equal(got, pattern, octets);
    free(got);
    free(pattern);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
    return sent;
}

// Few octets leave with those of other streams, many at once, while they are in the processor's cache.
static void test_many_octets_leave_at_once(void **state)
{
    (void)state;
    assert_int_equal(sent_without_the_ring(URING_NOW_OCTETS - 1), 0);
    assert_int_equal(sent_without_the_ring(URING_NOW_OCTETS), URING_NOW_OCTETS);
}

// The octets that have come by the time receiving is stopped are limited by what one multishot may
// bring.
static void test_held_octets_are_bounded(void **state)
{
    (void)state;
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    int fd = rig_client(&r);
    peer *p = r.last;
    rig_turns(&r, 3);
    io_recv_stop(&p->stream);
    char *octets = pattern_of(1 << 20);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 50; i++) {
        (void)!send(fd, octets, 1 << 20, MSG_NOSIGNAL);
        rig_turn(&r);
    }
    size_t held = 0;
    for (unsigned i = 0; i < URING_HELD_BUCKETS; i++) {
        for (const uring_held *h = kernel->held[i]; h; h = h->next)
            held += h->len;
    }
    assert_true(held > 0);
    assert_true(held <= URING_MULTISHOT_OCTETS + URING_BUFFER_OCTETS);
    free(octets);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
}

typedef struct ender {
    rig *rig;
    io_op watch;
    unsigned done;
} ender;

// Ending accepting enters the ring, while polls are being told.
static void end_accepting(io_op *op, int64_t result)
{
    ender *e = op->user;
    assert_int_equal(result, 0);
    if (++e->done > 1) return;
    io_submit(&e->rig->loop, op); // gets the same place again
    io_cancel(&e->rig->loop, &e->rig->accept);
}

static void test_polls_may_enter_the_ring(void **state)
{
    (void)state;
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    ender enders[3];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    for (int i = 0; i < 3; i++) {
        enders[i] = (ender){ .rig = &r };
        enders[i].watch =
            (io_op){ .code = IO_POLL, .done = end_accepting, .user = &enders[i], .fd = ends[0] };
        io_submit(&r.loop, &enders[i].watch);
    }
    rig_turns(&r, 3);
    assert_int_equal(kernel->polls, 3);
    assert_int_equal(write(ends[1], "x", 1), 1);
    RIG_UNTIL(&r, enders[0].done == 2 && enders[1].done == 2 && enders[2].done == 2);
    assert_int_equal(kernel->polls, 0);
    assert_int_equal(io_turn(&r.loop, 0), SKUA_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(enders[i].done, 2);
    for (int i = 0; i < 2; i++)
        (void)close(ends[i]);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_not_taken),
        cmocka_unit_test(test_many_octets_leave_at_once),
        cmocka_unit_test(test_held_octets_are_bounded),
        cmocka_unit_test(test_polls_may_enter_the_ring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
