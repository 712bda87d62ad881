// SPDX-License-Identifier: MIT
//
// Faults that only io_uring could have. The rest is tested in test_streams and test_operations, on
// each backend.

#include "io/uring_files.h"
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

enum { SENDERS = URING_SENDS_MAX + URING_SENDS_MAX / 2 };

// Clients with streams that all send in the next turn: more than there is room for at a time.
typedef struct senders {
    int fds[SENDERS];
    peer *peers[SENDERS];
} senders;

static senders senders_begin(rig *r)
{
    senders all;
    for (int i = 0; i < SENDERS; i++) {
        all.fds[i] = rig_client(r);
        all.peers[i] = r->last;
    }
    rig_turns(r, 3);
    for (int i = 0; i < SENDERS; i++) {
        assert_true(out_copy(&all.peers[i]->out, SKUA_SLICE("octets")));
        io_send(&r->loop, &all.peers[i]->stream);
    }
    return all;
}

// Each client has got its octets, once.
static void senders_end(rig *r, const senders *all)
{
    for (int i = 0; i < SENDERS; i++) {
        char room[16];
        assert_int_equal(all->peers[i]->sent, 6);
        assert_int_equal(recv(all->fds[i], room, sizeof room, MSG_DONTWAIT), 6);
        assert_memory_equal(room, "octets", 6);
    }
    rig_close_all(r);
    for (int i = 0; i < SENDERS; i++)
        (void)close(all->fds[i]);
    rig_finish(r);
}

// However many streams send in a turn, none is left for the next, in which others might take its place again.
static void test_all_that_send_leave_in_their_turn(void **state)
{
    (void)state;
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    senders all = senders_begin(&r);
    rig_turn(&r);
    senders_end(&r, &all);
}

// The kernel may take none of them, also those that were to make room for others: they are sent again.
static void test_none_that_sends_is_lost_or_doubled(void **state)
{
    (void)state;
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    senders all = senders_begin(&r);
    int ring = kernel->ring.fd;
    kernel->ring.fd = -1; // as good as a kernel without memory
    assert_int_equal(io_turn(&r.loop, 0), SKUA_EIO);
    kernel->ring.fd = ring;
    assert_int_equal(uring_ring_queued(&kernel->ring), SENDERS);
    uint64_t sent = 0;
    for (int turns = 0; sent < 6 * SENDERS && turns < TURNS_MAX; turns++) {
        rig_turn(&r);
        sent = 0;
        for (int i = 0; i < SENDERS; i++)
            sent += all.peers[i]->sent;
    }
    senders_end(&r, &all);
}

static size_t held_octets(const uring_kernel *kernel)
{
    size_t held = 0;
    for (unsigned i = 0; i < URING_HELD_BUCKETS; i++) {
        for (const uring_held *h = kernel->held[i]; h; h = h->next)
            held += h->len;
    }
    return held;
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
    size_t held = held_octets(kernel);
    assert_true(held > 0);
    assert_true(held <= URING_MULTISHOT_OCTETS + URING_BUFFER_OCTETS);
    free(octets);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
}

// Octets of the receive that was armed last.
static uint32_t armed_octets(const uring_kernel *kernel)
{
    for (uint32_t i = 1; i <= kernel->ring.sq_entries; i++) {
        const uring_sqe *sqe =
            &kernel->ring.sqes[(kernel->ring.sq_local - i) & kernel->ring.sq_mask];
        if (sqe->opcode == URING_RECV) return sqe->optlen;
    }
    return 0;
}

// Sends pieces one after the other until another receive is armed. Returns how many those were.
static unsigned talk_until_armed(rig *r, int fd, const char *octets, size_t len)
{
    const uring_kernel *kernel = r->loop.kernel;
    const peer *p = r->last;
    uint32_t submitted = kernel->ring.sq_local;
    for (unsigned n = 1; n <= 1000; n++) {
        size_t before = p->got_octets;
        assert_int_equal(send(fd, octets, len, MSG_NOSIGNAL), len);
        RIG_UNTIL(r, p->got_octets == before + len);
        rig_turns(r, 2);
        if (kernel->ring.sq_local != submitted) return n;
    }
    return 0;
}

static void test_streams_of_short_messages_are_armed_for_more(void **state)
{
    (void)state;
    enum { SHORT = 1024, LONG = URING_BUFFER_OCTETS };
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    const uring_kernel *kernel = r.loop.kernel;
    char *octets = pattern_of(1 << 20);
    int fd = rig_client(&r);
    rig_turns(&r, 3);
    if (!kernel->multishot) skip();
    assert_int_equal(armed_octets(kernel), URING_MULTISHOT_OCTETS);
    assert_int_equal(talk_until_armed(&r, fd, octets, SHORT), URING_MULTISHOT_OCTETS / SHORT);
    assert_int_equal(armed_octets(kernel), URING_MULTISHOT_SHORT_OCTETS);
    assert_int_equal(talk_until_armed(&r, fd, octets, SHORT), URING_MULTISHOT_SHORT_OCTETS / SHORT);
    assert_int_equal(armed_octets(kernel), URING_MULTISHOT_SHORT_OCTETS);
    assert_int_equal(talk_until_armed(&r, fd, octets, LONG), URING_MULTISHOT_SHORT_OCTETS / LONG);
    assert_int_equal(armed_octets(kernel), URING_MULTISHOT_OCTETS);

    (void)talk_until_armed(&r, fd, octets, SHORT);
    peer *p = r.last;
    io_recv_stop(&p->stream);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 50; i++) {
        (void)!send(fd, octets, 1 << 20, MSG_NOSIGNAL);
        rig_turn(&r);
    }
    assert_true(held_octets(kernel) <= URING_MULTISHOT_SHORT_OCTETS + URING_BUFFER_OCTETS);
    rig_close(&r, p);
    (void)close(fd);

    fd = rig_client(&r); // the slot of the first, and none of its past
    rig_turns(&r, 3);
    (void)talk_until_armed(&r, fd, octets, SHORT);
    uint32_t slot = r.last->stream.item.slot;
    for (unsigned i = 0; i < URING_SHORT_PIECES; i++) {
        assert_int_equal(send(fd, octets, SHORT, MSG_NOSIGNAL), SHORT);
        rig_turns(&r, 2);
    }
    assert_int_equal(kernel->pieces[slot], URING_SHORT_PIECES);
    rig_close(&r, r.last);
    (void)close(fd);
    fd = rig_client(&r);
    rig_turns(&r, 3);
    assert_int_equal(r.last->stream.item.slot, slot);
    assert_int_equal(armed_octets(kernel), URING_MULTISHOT_OCTETS);
    free(octets);
    rig_close(&r, r.last);
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

// ---- The ring's table of files ----

static void send_pieces(rig *r, peer *p, int fd, int count)
{
    char room[8] = "";
    for (int i = 0; i < count; i++) {
        size_t before = (size_t)p->sent;
        assert_true(out_copy(&p->out, SKUA_SLICE("octets")));
        io_send(&r->loop, &p->stream);
        RIG_UNTIL(r, p->sent == before + 6);
        assert_int_equal(recv(fd, room, sizeof room, 0), 6);
        assert_memory_equal(room, "octets", 6);
    }
}

// Of a rig with a client whose socket has just been put into the table. Skips where there is none.
static int client_in_table(rig *r)
{
    if (!rig_open(r, RIG_MULTISHOT)) skip();
    const uring_kernel *kernel = r->loop.kernel;
    int fd = rig_client(r);
    rig_turns(r, 3);
    if (!kernel->ring.files) {
        rig_close(r, r->last);
        (void)close(fd);
        rig_finish(r);
        skip();
    }
    send_pieces(r, r->last, fd, URING_FILE_SENDS - 1);
    assert_false(uring_files_have(kernel, &r->last->stream));
    send_pieces(r, r->last, fd, 1);
    assert_true(uring_files_have(kernel, &r->last->stream));
    return fd;
}

static void expect_end(int fd)
{
    char octet;
    assert_int_equal(recv(fd, &octet, 1, MSG_DONTWAIT), 0);
    (void)close(fd);
}

// The table holds the socket, too: closing ends the connection nevertheless, at once, and whoever has the slot next
// begins anew.
static void test_files_are_let_go(void **state)
{
    (void)state;
    rig r;
    int fd = client_in_table(&r);
    const uring_kernel *kernel = r.loop.kernel;
    uint32_t slot = r.last->stream.item.slot;
    send_pieces(&r, r.last, fd, 3);
    rig_close(&r, r.last);
    rig_turn(&r); // by the end of the next turn
    expect_end(fd);
    fd = rig_client(&r);
    rig_turns(&r, 3);
    assert_int_equal(r.last->stream.item.slot, slot);
    assert_int_equal(kernel->file_sends[slot], 0);
    send_pieces(&r, r.last, fd, URING_FILE_SENDS + 3);
    assert_true(uring_files_have(kernel, &r.last->stream));
    rig_close(&r, r.last);
    rig_turn(&r);
    expect_end(fd);
    rig_finish(&r);
}

// Where the descriptor is closed by a system call, the table lets go by one, too.
static void test_files_are_let_go_at_once(void **state)
{
    (void)state;
    rig r;
    int fd = client_in_table(&r);
    uring_kernel *kernel = r.loop.kernel;
    kernel->turn.paused = true; // somebody waits for a descriptor
    kernel->turn.retry_ns = r.loop.now_ns + INT64_C(3600000000000);
    rig_close(&r, r.last);
    expect_end(fd);
    rig_finish(&r);
}

// Its receives hold the socket until the ring is closed, and the table does not hold it any longer.
static void test_files_of_a_ring_that_failed(void **state)
{
    (void)state;
    rig r;
    int fd = client_in_table(&r);
    const uring_kernel *kernel = r.loop.kernel;
    io_abandon(&r.loop);
    assert_int_equal(kernel->ring.files, 0);
    out_deinit(&r.last->out);
    io_close(&r.loop, &r.last->stream);
    assert_int_equal(io_turn(&r.loop, 0), SKUA_EIO);
    assert_int_equal(r.closed, 1);
    rig_finish(&r);
    char octet;
    assert_int_equal(recv(fd, &octet, 1, 0), 0);
    (void)close(fd);
}

// Whatever leaves in part by the table goes on where it has stopped.
static void test_short_sends_by_the_table(void **state)
{
    (void)state;
    enum { PIECE = URING_NOW_OCTETS - 1, OCTETS = 400 * PIECE };
    rig r;
    int fd = client_in_table(&r);
    peer *p = r.last;
    uint64_t before = p->sent, full = p->full;
    char *lent = pattern_of(OCTETS), *room = malloc(OCTETS);
    size_t at = 0, got = 0;
    assert_non_null(room);
    while (got < OCTETS) {
        if (p->out.octets == 0 && at < OCTETS) {
            out_lend(&p->out, slice_make(lent + at, PIECE), NULL, NULL);
            io_send(&r.loop, &p->stream);
            at += PIECE;
        }
        bool is_full = p->stream.flags & IO_UNWRITABLE;
        ssize_t n = is_full || at == OCTETS ? recv(fd, room + got, OCTETS - got, MSG_DONTWAIT) : 0;
        if (n > 0) got += (size_t)n;
        rig_turn(&r);
    }
    assert_true(p->full > full || p->sent == before + OCTETS);
    assert_int_equal(p->sent, before + OCTETS);
    assert_memory_equal(lent, room, OCTETS);
    free(lent);
    free(room);
    rig_close(&r, p);
    (void)close(fd);
    rig_finish(&r);
}

// A socket that the table does not take, and any where there is no table, is sent to as before.
static void test_files_that_are_refused(void **state)
{
    (void)state;
    rig r;
    if (!rig_open(&r, RIG_MULTISHOT)) skip();
    uring_kernel *kernel = r.loop.kernel;
    int fd = rig_client(&r);
    uint32_t files = kernel->ring.files;
    rig_turns(&r, 3);
    kernel->ring.files = 0;
    send_pieces(&r, r.last, fd, 2 * URING_FILE_SENDS);
    assert_false(uring_files_have(kernel, &r.last->stream));
    uring_ring_drop_files(&kernel->ring); // says nothing of what is not there
    kernel->ring.files = files;
    int ring = kernel->ring.fd;
    kernel->file_sends[r.last->stream.item.slot] = URING_FILE_SENDS - 1;
    kernel->ring.fd = -1;
    uring_files_count(kernel, &r.last->stream);
    kernel->ring.fd = ring;
    assert_false(uring_files_have(kernel, &r.last->stream));
    send_pieces(&r, r.last, fd, 2 * URING_FILE_SENDS);
    assert_false(uring_files_have(kernel, &r.last->stream));
    rig_close(&r, r.last);
    rig_turn(&r);
    expect_end(fd);
    rig_finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sends_not_taken),
        cmocka_unit_test(test_many_octets_leave_at_once),
        cmocka_unit_test(test_all_that_send_leave_in_their_turn),
        cmocka_unit_test(test_none_that_sends_is_lost_or_doubled),
        cmocka_unit_test(test_held_octets_are_bounded),
        cmocka_unit_test(test_streams_of_short_messages_are_armed_for_more),
        cmocka_unit_test(test_polls_may_enter_the_ring),
        cmocka_unit_test(test_files_are_let_go),
        cmocka_unit_test(test_files_are_let_go_at_once),
        cmocka_unit_test(test_files_of_a_ring_that_failed),
        cmocka_unit_test(test_short_sends_by_the_table),
        cmocka_unit_test(test_files_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
