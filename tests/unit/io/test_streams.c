// SPDX-License-Identifier: MIT
//
// Promises of io.h about streams, asked of real sockets on each backend.

#include "io/uring_ring.h"
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

// ---- Receiving ----

static void check_stop_and_resume(rig *r)
{
    enum { OCTETS = 700000 };
    char *sent = pattern_of(OCTETS);
    int fd = rig_client(r);
    peer *p = r->last;
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    p->stops = true;
    size_t done = 0;
    for (int turns = 0; p->got_octets < OCTETS; turns++) {
        assert_true(turns < TURNS_MAX);
        ssize_t n = done < OCTETS ? send(fd, sent + done, OCTETS - done, MSG_NOSIGNAL) : 0;
        if (n > 0) done += (size_t)n;
        size_t before = p->got_octets;
        rig_turns(r, turns % 3);
        // it has been stopped by the first piece
        assert_true(p->got_octets - before <= IO_RECV_OCTETS);
        io_recv(&r->loop, &p->stream);
        rig_turn(r);
    }
    assert_memory_equal(p->got, sent, OCTETS);
    (void)close(fd);
    io_recv(&r->loop, &p->stream);
    RIG_UNTIL(r, p->fin);
    rig_close(r, p);
    free(sent);
}

// The octets held of a stopped stream are bounded, and the rest stays with the kernel.
static void check_stopped_for_long(rig *r)
{
    enum { OCTETS = 4 << 20 };
    char *sent = pattern_of(OCTETS);
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    io_recv_stop(&p->stream);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    size_t done = 0;
    for (int i = 0; i < 50; i++) {
        ssize_t n = send(fd, sent + done, OCTETS - done, MSG_NOSIGNAL);
        if (n > 0) done += (size_t)n;
        rig_turn(r);
    }
    assert_int_equal(p->got_octets, 0);
    for (size_t before = 0; p->got_octets < done || done < OCTETS;) {
        ssize_t n = done < OCTETS ? send(fd, sent + done, OCTETS - done, MSG_NOSIGNAL) : 0;
        if (n > 0) done += (size_t)n;
        io_recv(&r->loop, &p->stream);
        rig_turn(r);
        assert_true(p->got_octets >= before);
        before = p->got_octets;
    }
    assert_memory_equal(p->got, sent, OCTETS);
    rig_close(r, p);
    (void)close(fd);
    free(sent);
}

static void check_end_while_stopped(rig *r)
{
    for (int with_octets = 0; with_octets < 3; with_octets++) {
        int fd = rig_client(r);
        peer *p = r->last;
        rig_turns(r, 3); // receiving is armed
        io_recv_stop(&p->stream);
        if (with_octets) write_all(fd, "late", 4);
        if (with_octets == 2) rig_turns(r, 5); // they come before the FIN
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        RIG_UNTIL(r, p->near);
        assert_int_equal(p->got_octets, 0);
        assert_false(p->fin);
        io_recv(&r->loop, &p->stream);
        RIG_UNTIL(r, p->fin);
        assert_int_equal(p->got_octets, with_octets ? 4 : 0);
        rig_close(r, p);
        (void)close(fd);
    }
}

static void check_reset_while_stopped(rig *r)
{
    for (int with_octets = 0; with_octets < 2; with_octets++) {
        int fd = rig_client(r);
        peer *p = r->last;
        rig_turns(r, 3);
        io_recv_stop(&p->stream);
        if (with_octets) write_all(fd, "late", 4);
        rig_turns(r, 5);
        reset_client(fd);
        RIG_UNTIL(r, p->reset);
        rig_close(r, p);
    }
}

static void check_reset_after_fin(rig *r)
{
    int fd = rig_client(r);
    peer *p = r->last;
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    RIG_UNTIL(r, p->fin);
    rig_turns(r, 3);
    reset_client(fd);
    RIG_UNTIL(r, p->reset);
    rig_close(r, p);
}

// A message that is longer than one receive comes in one piece when its owner expects it. After that a short one is
// received as ever.
static void check_many_octets(rig *r)
{
    enum { OCTETS = 65550, ROUNDS = 6 };
    char *sent = pattern_of(OCTETS);
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    p->many = true;
    for (int round = 1; round <= ROUNDS; round++) {
        write_all(fd, sent, OCTETS);
        RIG_UNTIL(r, p->got_octets == (size_t)round * OCTETS);
        assert_memory_equal(p->got + p->got_octets - OCTETS, sent, OCTETS);
    }
    assert_in_range(p->longest, IO_RECV_OCTETS + 1, IO_BULK_OCTETS);
    p->many = false;
    for (int i = 0; i < 3; i++) {
        size_t before = p->got_octets;
        write_all(fd, "short", 5);
        RIG_UNTIL(r, p->got_octets == before + 5);
        assert_false(p->stream.flags & IO_BULK);
    }
    p->many = true;
    write_all(fd, sent, OCTETS);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    RIG_UNTIL(r, p->fin);
    assert_memory_equal(p->got + p->got_octets - OCTETS, sent, OCTETS);
    rig_close(r, p);
    (void)close(fd);
    free(sent);
}

// It stops in the middle, and is closed while it waits for more.
static void check_many_octets_end(rig *r)
{
    enum { OCTETS = 200000 };
    char *sent = pattern_of(OCTETS);
    for (int resets = 0; resets < 2; resets++) {
        int fd = rig_client(r);
        peer *p = r->last;
        p->many = true;
        write_all(fd, sent, OCTETS);
        RIG_UNTIL(r, p->got_octets == OCTETS);
        rig_turns(r, 3);
        io_recv_stop(&p->stream);
        write_all(fd, "late", 4);
        rig_turns(r, 5);
        assert_int_equal(p->got_octets, OCTETS);
        io_recv(&r->loop, &p->stream);
        RIG_UNTIL(r, p->got_octets == OCTETS + 4);
        if (resets) {
            reset_client(fd);
            RIG_UNTIL(r, p->reset);
        }
        rig_close(r, p);
        if (!resets) (void)close(fd);
    }
    free(sent);
}

// More streams have input than there are buffers.
static void check_buffers_run_out(rig *r)
{
    enum { CLIENTS = URING_BUFFERS + 150, OCTETS = 20000 };
    static int fds[CLIENTS];
    static peer *peers[CLIENTS];
    char *sent = pattern_of(OCTETS);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = rig_client(r);
        peers[i] = r->last;
    }
    rig_turns(r, 3);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < CLIENTS; i++)
            write_all(fds[i], sent, OCTETS);
        for (int i = 0; i < CLIENTS; i++)
            RIG_UNTIL(r, peers[i]->got_octets == (size_t)(round + 1) * OCTETS);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_memory_equal(peers[i]->got + 4 * OCTETS, sent, OCTETS);
        rig_close(r, peers[i]);
        (void)close(fds[i]);
    }
    free(sent);
}

// ---- Sending ----

static void released(void *user)
{
    ++*(int *)user;
}

static void check_short_sends(rig *r)
{
    enum { OCTETS = 12 << 20 };
    char *lent = pattern_of(OCTETS), *room = malloc(OCTETS);
    int fd = rig_client(r), given_back = 0;
    peer *p = r->last;
    assert_non_null(room);
    rig_turns(r, 3);
    for (size_t at = 0; at < OCTETS; at += OCTETS / 12)
        out_lend(&p->out, slice_make(lent + at, OCTETS / 12), released, &given_back);
    io_send(&r->loop, &p->stream);
    rig_turns(r, 20);
    assert_true(p->sent < OCTETS); // the peer has read nothing
    size_t got = 0;
    while (got < OCTETS) {
        ssize_t n = recv(fd, room + got, OCTETS - got, MSG_DONTWAIT);
        if (n > 0) got += (size_t)n;
        rig_turn(r);
    }
    RIG_UNTIL(r, p->sent == OCTETS);
    assert_memory_equal(lent, room, OCTETS);
    assert_int_equal(given_back, 12);
    rig_close(r, p);
    (void)close(fd);
    free(lent);
    free(room);
}

// A head leaves in one piece with the content behind it where the content has room before it, again and again, and the
// content stays as it is whatever leaves of it at once. Without room, or with too little, nothing before it is touched.
static void check_head_before_content(rig *r)
{
    enum { ROOM = 64, HEAD = 40, OCTETS = 3 << 20, MANY = 3 };
    static const uint16_t rooms[] = { ROOM, HEAD, HEAD - 1, 0 };
    char *memory = malloc(ROOM + OCTETS), *content = memory + ROOM, *pattern = pattern_of(OCTETS);
    char *got = malloc(MANY * (HEAD + OCTETS)), head[HEAD];
    assert_true(memory && got);
    memset(head, 'h', HEAD);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        int fd = rig_client(r), given_back = 0;
        peer *p = r->last;
        memset(memory, '-', ROOM);
        memcpy(content, pattern, OCTETS);
        rig_turns(r, 3);
        for (int n = 0; n < MANY; n++) {
            assert_true(out_copy(&p->out, slice_make(head, HEAD)));
            out_lend_behind(&p->out, rooms[i], slice_make(content, OCTETS), released, &given_back);
        }
        io_send(&r->loop, &p->stream);
        for (size_t n = 0; n < MANY * (size_t)(HEAD + OCTETS);) {
            ssize_t more = recv(fd, got + n, MANY * (size_t)(HEAD + OCTETS) - n, MSG_DONTWAIT);
            if (more > 0) n += (size_t)more;
            rig_turn(r);
        }
        RIG_UNTIL(r, given_back == MANY);
        for (int n = 0; n < MANY; n++) {
            assert_memory_equal(got + n * (HEAD + OCTETS), head, HEAD);
            assert_memory_equal(got + n * (HEAD + OCTETS) + HEAD, pattern, OCTETS);
        }
        assert_memory_equal(content, pattern, OCTETS);
        assert_int_equal(memory[ROOM - HEAD] == 'h', rooms[i] >= HEAD);
        assert_int_equal(memory[ROOM - 1], rooms[i] >= HEAD ? 'h' : '-');
        rig_close(r, p);
        (void)close(fd);
    }
    free(memory);
    free(pattern);
    free(got);
}

// The length that one call is asked for fits the kernel's lengths, whatever the turn allows.
// Nobody would watch a peer that takes nothing if the owner took its octets for sent.
static void check_full_before_anything_left(rig *r)
{
    static const char octets[65536];
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    while (send(p->stream.fd, octets, sizeof octets, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    out_lend(&p->out, slice_make(octets, 100), NULL, NULL);
    io_send(&r->loop, &p->stream);
    rig_turns(r, 5);
    assert_int_equal(p->full, 1);
    assert_int_equal(p->sent, 0);
    rig_close(r, p);
    (void)close(fd);
}

// Where sends are not kept for the end of the turn, octets have left when io_send_at_once returns, and nothing is told.
// A socket that is full leaves the rest to io_send.
static void check_send_at_once(rig *r)
{
    enum { OCTETS = 16000 };
    static char octets[OCTETS];
    char room[16];
    bool is_kept = !r->loop.backend->send_at_once;
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    assert_true(out_copy(&p->out, SKUA_SLICE("at once")));
    assert_int_equal(io_send_at_once(&r->loop, &p->stream), is_kept ? 0 : 7);
    assert_int_equal(recv(fd, room, sizeof room, MSG_DONTWAIT), is_kept ? -1 : 7);
    assert_int_equal(p->out.octets, is_kept ? 7 : 0);
    assert_int_equal(p->sent, 0);
    uint64_t left = is_kept ? 7 : 0, n = 0;
    for (unsigned i = 0; !is_kept && p->out.octets == 0; i++) {
        assert_true(i < TURNS_MAX);
        assert_true(out_copy(&p->out, slice_make(octets, OCTETS)));
        n = io_send_at_once(&r->loop, &p->stream);
        assert_int_equal(n + p->out.octets, OCTETS);
        left = p->out.octets;
    }
    io_send(&r->loop, &p->stream);
    assert_int_equal(io_send_at_once(&r->loop, &p->stream), 0); // it is sent already
    while (p->sent < left) {
        (void)!recv(fd, octets, sizeof octets, MSG_DONTWAIT);
        rig_turn(r);
    }
    assert_int_equal(p->sent, left);
    assert_true(out_copy(&p->out, SKUA_SLICE("one piece")));
    out_lend(&p->out, SKUA_SLICE("another"), NULL, NULL);
    assert_int_equal(io_send_at_once(&r->loop, &p->stream), 0);
    rig_close(r, p);
    (void)close(fd);
}

// A send to a client that has gone says nothing. The next one tells of it.
static void check_send_at_once_to_the_dead(rig *r)
{
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    io_recv_stop(&p->stream);
    reset_client(fd);
    assert_true(out_copy(&p->out, SKUA_SLICE("lost")));
    assert_int_equal(io_send_at_once(&r->loop, &p->stream), 0);
    assert_false(p->reset);
    io_send(&r->loop, &p->stream);
    RIG_UNTIL(r, p->reset);
    rig_close(r, p);
}

static void check_send_of_gigabytes(rig *r)
{
    enum { ENOUGH = 100000 };
    static char room[ENOUGH];
    const uint64_t octets = UINT64_C(5) << 30;
    char *lent = mmap(NULL, octets, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(lent != MAP_FAILED);
    for (uint64_t most = UINT64_C(1) << 32; most <= octets; most += UINT64_C(1) << 30) {
        int fd = rig_client(r), given_back = 0;
        peer *p = r->last;
        rig_turns(r, 3);
        r->loop.send_turn_octets_max = most;
        out_lend(&p->out, slice_make(lent, most), released, &given_back);
        io_send(&r->loop, &p->stream);
        RIG_UNTIL(r, p->sent >= ENOUGH);
        assert_int_equal(recv(fd, room, sizeof room, MSG_WAITALL), ENOUGH);
        assert_true(p->sent < most);
        rig_close(r, p);
        (void)close(fd);
    }
    assert_int_equal(munmap(lent, octets), 0);
}

static void check_send_to_the_dead(rig *r)
{
    char *lent = pattern_of(8 << 20);
    int given_back = 0;
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    io_recv_stop(&p->stream);
    out_lend(&p->out, slice_make(lent, 8 << 20), released, &given_back);
    io_send(&r->loop, &p->stream);
    rig_turns(r, 5);
    reset_client(fd);
    RIG_UNTIL(r, p->reset);
    rig_close(r, p);
    assert_int_equal(given_back, 1);
    free(lent);
}

static void check_shutdown_after_send(rig *r)
{
    char room[16];
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    assert_true(out_copy(&p->out, SKUA_SLICE("farewell")));
    io_send(&r->loop, &p->stream);
    io_shutdown(&r->loop, &p->stream);
    RIG_UNTIL(r, p->sent == 8);
    RIG_UNTIL(r, recv(fd, room, sizeof room, MSG_PEEK | MSG_DONTWAIT) == 8);
    assert_int_equal(recv(fd, room, sizeof room, 0), 8);
    RIG_UNTIL(r, recv(fd, room, sizeof room, MSG_DONTWAIT) == 0);
    write_all(fd, "still", 5);
    RIG_UNTIL(r, p->got_octets == 5);
    rig_close(r, p);
    (void)close(fd);
}

// Both sides have ended, and the kernel holds octets that the peer will not take any more.
static void check_reset_after_both_ends(rig *r)
{
    enum { OCTETS = 150000 };
    enum { RECEIVES, STOPPED_AT_FIRST, STOPPED, WAYS };
    char *lent = pattern_of(OCTETS);
    for (int way = 0; way < WAYS; way++) {
        int fd = rig_client(r), small = 4096, large = 2 * OCTETS, given_back = 0;
        peer *p = r->last;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
        assert_int_equal(setsockopt(p->stream.fd, SOL_SOCKET, SO_SNDBUF, &large, sizeof large), 0);
        rig_turns(r, 3);
        if (way != RECEIVES) io_recv_stop(&p->stream);
        out_lend(&p->out, slice_make(lent, OCTETS), released, &given_back);
        io_send(&r->loop, &p->stream);
        io_shutdown(&r->loop, &p->stream);
        write_all(fd, "late", 4);
        RIG_UNTIL(r, p->sent == OCTETS);
        rig_turns(r, 3);
        if (way == STOPPED_AT_FIRST) io_recv(&r->loop, &p->stream);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        if (way == STOPPED) RIG_UNTIL(r, p->near);
        else RIG_UNTIL(r, p->fin);
        rig_turns(r, 3);
        assert_true(io_unsent(&r->loop, &p->stream) > 0);
        assert_false(p->reset);
        reset_client(fd);
        RIG_UNTIL(r, p->reset);
        rig_close(r, p);
    }
    free(lent);
}

// ---- Closing ----

// An armed receive, a send that waits for room: none keeps the socket open.
static void check_close(rig *r)
{
    char *lent = pattern_of(8 << 20);
    for (int sends = 0; sends < 3; sends++) {
        int given_back = 0;
        int fd = rig_client(r);
        peer *p = r->last;
        rig_turns(r, 3);
        if (sends) {
            out_lend(&p->out, slice_make(lent, 8 << 20), released, &given_back);
            io_send(&r->loop, &p->stream);
        }
        if (sends == 2) rig_turns(r, 5);
        rig_close(r, p);
        assert_int_equal(given_back, sends > 0);
        char room[65536];
        ssize_t n;
        while ((n = recv(fd, room, sizeof room, 0)) > 0)
            continue;
        assert_int_equal(n, 0);
        (void)close(fd);
    }
    free(lent);
}

static void check_close_with_octets_held(rig *r)
{
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    io_recv_stop(&p->stream);
    write_all(fd, "unread", 6);
    rig_turns(r, 5);
    rig_close(r, p);
    assert_int_equal(p->got_octets, 0);
    (void)close(fd);
}

// The peer does not read, and is told by a reset that nothing more will come.
static void check_reset(rig *r)
{
    enum { OCTETS = 8 << 20 };
    static char room[65536];
    char *lent = pattern_of(OCTETS);
    for (int turns = 0; turns < 6; turns += 5) {
        int fd = rig_client(r), given_back = 0;
        peer *p = r->last;
        rig_turns(r, 3);
        out_lend(&p->out, slice_make(lent, OCTETS), released, &given_back);
        io_send(&r->loop, &p->stream);
        rig_turns(r, turns);
        p->resets = true;
        rig_close(r, p);
        assert_int_equal(given_back, 1);
        ssize_t n, total = 0;
        while ((n = recv(fd, room, sizeof room, 0)) > 0)
            total += n;
        assert_int_equal(n, -1);
        assert_int_equal(errno, ECONNRESET);
        assert_true(total < OCTETS);
        (void)close(fd);
    }
    free(lent);
}

// The client has sent something, or has left, and the loop has not come to it.
static void check_input_waits(rig *r)
{
    int fd = rig_client(r);
    peer *p = r->last;
    rig_turns(r, 3);
    assert_false(io_has_input(&r->loop, &p->stream));
    write_all(fd, "one", 3);
    assert_true(io_has_input(&r->loop, &p->stream));
    RIG_UNTIL(r, p->got_octets == 3);
    assert_false(io_has_input(&r->loop, &p->stream));
    io_recv_stop(&p->stream);
    write_all(fd, "two", 3);
    rig_turns(r, 3); // on io_uring they are taken and held
    assert_true(io_has_input(&r->loop, &p->stream));
    io_recv(&r->loop, &p->stream);
    RIG_UNTIL(r, p->got_octets == 6);
    assert_false(io_has_input(&r->loop, &p->stream));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_true(io_has_input(&r->loop, &p->stream));
    RIG_UNTIL(r, p->fin);
    assert_false(io_has_input(&r->loop, &p->stream));
    rig_close(r, p);
    (void)close(fd);
    fd = rig_client(r);
    rig_turns(r, 3);
    reset_client(fd);
    assert_true(io_has_input(&r->loop, &r->last->stream));
    rig_close(r, r->last);
}

static unsigned fired, rung;

static void on_fired(io_deadline *deadline, void *user)
{
    (void)deadline;
    (void)user;
    fired++;
}

static void on_alarm(io_alarm *alarm, void *user)
{
    (void)alarm;
    (void)user;
    rung++;
}

// A loop that always has something to do still looks at the clock in each turn.
static void check_timers_beside_work(rig *r)
{
    int fd = rig_client(r);
    io_deadline deadline = { .due = 0 };
    io_alarm alarm = { .fired = on_alarm };
    fired = rung = 0;
    io_timers_init(&r->loop.timers, r->loop.now_ns, on_fired, r);
    r->last->kicks = 1;
    io_kick(&r->loop, &r->last->stream);
    for (unsigned round = 1; round <= 3; round++) {
        io_deadline_set(&r->loop.timers, &deadline, IO_TICK_NS);
        int64_t due_ns = io_clock_ns() + 2 * (int64_t)IO_TICK_NS;
        assert_int_equal(io_alarm_set(&r->loop.alarms, &alarm, due_ns), SKUA_OK);
        for (int64_t began_ns = 0; began_ns < due_ns;) { // the last turn begins when both are due
            began_ns = io_clock_ns();
            rig_turn(r);
        }
        assert_int_equal(fired, round);
        assert_int_equal(rung, round);
    }
    assert_true(r->last->kicks > 100);
    r->last->kicks = 0;
    rig_close(r, r->last);
    (void)close(fd);
}

ON_EACH(stop_and_resume)
ON_EACH(stopped_for_long)
ON_EACH(end_while_stopped)
ON_EACH(reset_while_stopped)
ON_EACH(reset_after_fin)
ON_EACH(buffers_run_out)
ON_EACH(many_octets)
ON_EACH(many_octets_end)
ON_EACH(full_before_anything_left)
ON_EACH(short_sends)
ON_EACH(head_before_content)
ON_EACH(send_at_once)
ON_EACH(send_at_once_to_the_dead)
ON_EACH(send_of_gigabytes)
ON_EACH(send_to_the_dead)
ON_EACH(shutdown_after_send)
ON_EACH(reset_after_both_ends)
ON_EACH(close)
ON_EACH(close_with_octets_held)
ON_EACH(reset)
ON_EACH(input_waits)
ON_EACH(timers_beside_work)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(stop_and_resume),
        EACH(stopped_for_long),
        EACH(end_while_stopped),
        EACH(reset_while_stopped),
        EACH(reset_after_fin),
        EACH(buffers_run_out),
        EACH(many_octets),
        EACH(many_octets_end),
        EACH(full_before_anything_left),
        EACH(short_sends),
        EACH(head_before_content),
        EACH(send_at_once),
        EACH(send_at_once_to_the_dead),
        EACH(send_of_gigabytes),
        EACH(send_to_the_dead),
        EACH(shutdown_after_send),
        EACH(reset_after_both_ends),
        EACH(close),
        EACH(close_with_octets_held),
        EACH(reset),
        EACH(input_waits),
        EACH(timers_beside_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
