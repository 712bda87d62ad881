// SPDX-License-Identifier: MIT
//
// What io_uring alone could do wrong. The rest is tested in test_streams and test_operations, on
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

// What has come by the time receiving is stopped is limited by what one multishot may bring.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_not_taken),
        cmocka_unit_test(test_held_octets_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
