// SPDX-License-Identifier: MIT
//
// What io.h promises, asked of real sockets: of io_uring with receives armed once and with receives
// armed each time (as kernels before 6.17 need it), and of epoll, which must not differ.

#include "base/assert.h"
#include "io/socket.h"
#include "io/uring_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { PEERS_MAX = 512, TURNS_MAX = 20000 };

typedef struct peer {
    io_stream stream;
    out_queue out;
    char *got;
    size_t got_octets, got_room;
    uint64_t sent;
    bool near, fin, reset, closed, stops;
} peer;

typedef enum rig_kind { RIG_MULTISHOT, RIG_EACH, RIG_EPOLL } rig_kind;

typedef struct rig {
    io_loop loop;
    pool peers;
    block_store store;
    socket_address address;
    io_op accept;
    unsigned accepted, closed, evictions;
    bool shy; // accepted streams do not receive
    peer *last;
} rig;

static rig *the_rig;

// ---- The owner of the streams ----

static void peer_received(io_stream *stream, char *octets, size_t len)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(stream->flags & IO_WANT_RECV);
    SKUA_ASSERT(!(p->fin || p->reset || p->closed));
    SKUA_ASSERT(len > 0 && len <= IO_RECV_OCTETS);
    if (p->got_octets + len > p->got_room) {
        p->got_room = 2 * (p->got_octets + len);
        p->got = realloc(p->got, p->got_room);
        SKUA_ASSERT(p->got);
    }
    memcpy(p->got + p->got_octets, octets, len);
    p->got_octets += len;
    memset(octets, 'x', len); // lent writable
    if (p->stops) io_recv_stop(stream);
}

static void peer_ended(io_stream *stream, io_end how)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(!p->reset);
    if (how == IO_END_NEAR) {
        SKUA_ASSERT(!p->near && !p->fin && !(stream->flags & IO_WANT_RECV));
        p->near = true;
    } else if (how == IO_END_FIN) {
        SKUA_ASSERT(!p->fin);
        p->fin = true;
    } else {
        p->reset = true;
    }
}

static void peer_kicked(io_stream *stream)
{
    SKUA_ASSERT(stream);
}

static void peer_sent(io_stream *stream, uint64_t n)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(n > 0);
    SKUA_ASSERT(((stream->flags & IO_WANT_SEND) == 0) == (p->out.octets == 0));
    p->sent += n;
}

static void peer_closed(io_stream *stream)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(stream->flags & IO_WANT_CLOSE);
    if (the_rig->last == p) the_rig->last = NULL;
    free(p->got);
    pool_give(&the_rig->peers, p);
    the_rig->closed++;
}

static const io_stream_events peer_events = {
    .received = peer_received,
    .ended = peer_ended,
    .kicked = peer_kicked,
    .sent = peer_sent,
    .send_failed = peer_kicked,
    .closed = peer_closed,
};

static void rig_accepted(io_op *op, int64_t result)
{
    rig *r = op->user;
    SKUA_ASSERT(result >= 0 && op->active);
    peer *p = pool_take(&r->peers);
    SKUA_ASSERT(p);
    out_init(&p->out, &r->store);
    io_stream_open(&p->stream, (int)result);
    io_address from = op->peer;
    if (from.family == 0) r->loop.backend->peer(&p->stream, &from);
    SKUA_ASSERT(from.family == 4 && from.octets[0] == 127);
    p->stream.out = &p->out;
    r->last = p;
    r->accepted++;
    if (r->shy) io_kick(&r->loop, &p->stream);
    else io_recv(&r->loop, &p->stream);
}

static bool rig_evict(io_loop *loop)
{
    ((rig *)loop->owner)->evictions++;
    return false;
}

// ---- The rig ----

static bool rig_open(rig *r, rig_kind kind)
{
    *r = (rig){ .accepted = 0 };
    the_rig = r;
    pool_init(&r->peers, (sizeof(peer) + 15) / 16 * 16, PEERS_MAX);
    block_store_init(&r->store, 4);
    r->loop.events = &peer_events;
    r->loop.streams = &r->peers;
    r->loop.owner = r;
    r->loop.evict = rig_evict;
    r->loop.send_turn_octets_max = 1 << 20;
    skua_status status =
        io_loop_open(&r->loop, kind == RIG_EPOLL ? &io_backend_epoll : &io_backend_uring);
    if (status == SKUA_EACCES || status == SKUA_EUNSUPPORTED) {
        print_message("io_uring is not to be had here: %s\n", skua_status_text(status));
        return false;
    }
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(io_settle(&r->loop), SKUA_OK);
    if (kind != RIG_EPOLL) ((uring_kernel *)r->loop.kernel)->multishot = kind == RIG_MULTISHOT;
    io_timers_init(&r->loop.timers, r->loop.now_ns, NULL, r);
    r->accept = (io_op){ .code = IO_ACCEPT, .done = rig_accepted, .user = r };
    assert_int_equal(socket_address_read(SKUA_SLICE("127.0.0.1:0"), &r->address), SKUA_OK);
    assert_int_equal(socket_listen(&r->address, 512, false, &r->accept.fd), SKUA_OK);
    int never = 0; // a client that says nothing is accepted at once
    assert_int_equal(
        setsockopt(r->accept.fd, IPPROTO_TCP, 9 /* TCP_DEFER_ACCEPT */, &never, sizeof never), 0);
    io_submit(&r->loop, &r->accept);
    return true;
}

static void rig_turn(rig *r)
{
    assert_int_equal(io_turn(&r->loop, 2000000), SKUA_OK);
}

#define RIG_UNTIL(r, condition)                                                                    \
    do {                                                                                           \
        int turns_ = 0;                                                                            \
        while (!(condition)) {                                                                     \
            if (++turns_ == TURNS_MAX) fail_msg("never: %s", #condition);                          \
            rig_turn(r);                                                                           \
        }                                                                                          \
    } while (0)

static void rig_turns(rig *r, int n)
{
    while (n--)
        rig_turn(r);
}

static void rig_finish(rig *r)
{
    io_cancel(&r->loop, &r->accept);
    socket_close(&r->address, r->accept.fd);
    assert_int_equal(r->peers.in_use, 0);
    io_loop_close(&r->loop);
    block_store_deinit(&r->store);
    pool_deinit(&r->peers);
}

static int rig_connect(rig *r)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)r->address.octets, r->address.len), 0);
    return fd;
}

static int rig_client(rig *r)
{
    unsigned before = r->accepted;
    int fd = rig_connect(r);
    RIG_UNTIL(r, r->accepted > before);
    return fd;
}

static void rig_close(rig *r, peer *p)
{
    unsigned before = r->closed;
    io_close(&r->loop, &p->stream);
    out_deinit(&p->out);
    RIG_UNTIL(r, r->closed > before);
    rig_turn(r); // in which the descriptor is closed, at the latest
}

static char *pattern_of(size_t len)
{
    char *octets = malloc(len);
    assert_non_null(octets);
    for (size_t i = 0; i < len; i++)
        octets[i] = (char)(i * 2654435761u >> 11);
    return octets;
}

static void write_all(int fd, const char *octets, size_t len)
{
    while (len) {
        ssize_t n = send(fd, octets, len, MSG_NOSIGNAL);
        assert_true(n > 0);
        octets += n;
        len -= (size_t)n;
    }
}

static void reset_client(int fd)
{
    struct linger now = { .l_onoff = 1 };
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    (void)close(fd);
}

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

// What is held of a stopped stream is bounded, and the rest stays with the kernel.
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

// ---- Accepting ----

// Whoever has connected by the time accepting ends is delivered.
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
    for (uint32_t slot = 0; slot < CLIENTS; slot++) {
        peer *p = pool_at(&r->peers, slot);
        if (p->stream.item.generation & 1) rig_close(r, p);
    }
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
    rig_turns(r, 10); // some 20 ms: it waits and does not spin
    assert_true(r->evictions <= evictions + 2);
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
    for (uint32_t slot = 0; slot < CLIENTS; slot++) {
        peer *left = pool_at(&r->peers, slot);
        if (left->stream.item.generation & 1) rig_close(r, left);
    }
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

// What is told of other descriptors comes before the octets that came with it.
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

// ---- Each on each ----

typedef void check(rig *r);

static void run_on(rig_kind kind, check *checks)
{
    rig r;
    if (!rig_open(&r, kind)) skip();
    checks(&r);
    rig_finish(&r);
}

#define ON_EACH(name)                                                                              \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run_on(RIG_MULTISHOT, check_##name);                                                       \
    }                                                                                              \
    static void test_##name##_each(void **state)                                                   \
    {                                                                                              \
        (void)state;                                                                               \
        run_on(RIG_EACH, check_##name);                                                            \
    }                                                                                              \
    static void test_##name##_epoll(void **state)                                                  \
    {                                                                                              \
        (void)state;                                                                               \
        run_on(RIG_EPOLL, check_##name);                                                           \
    }

ON_EACH(stop_and_resume)
ON_EACH(stopped_for_long)
ON_EACH(end_while_stopped)
ON_EACH(reset_while_stopped)
ON_EACH(reset_after_fin)
ON_EACH(buffers_run_out)
ON_EACH(short_sends)
ON_EACH(send_to_the_dead)
ON_EACH(shutdown_after_send)
ON_EACH(close)
ON_EACH(close_with_octets_held)
ON_EACH(cancel_accept)
ON_EACH(accept_the_dead)
ON_EACH(out_of_descriptors)
ON_EACH(wake)
ON_EACH(poll_comes_first)
ON_EACH(cancelled_poll)

#define EACH(name)                                                                                 \
    cmocka_unit_test(test_##name), cmocka_unit_test(test_##name##_each),                           \
        cmocka_unit_test(test_##name##_epoll)

// ---- Of io_uring alone ----

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
        EACH(stop_and_resume),
        EACH(stopped_for_long),
        EACH(end_while_stopped),
        EACH(reset_while_stopped),
        EACH(reset_after_fin),
        EACH(buffers_run_out),
        EACH(short_sends),
        EACH(send_to_the_dead),
        EACH(shutdown_after_send),
        EACH(close),
        EACH(close_with_octets_held),
        EACH(cancel_accept),
        EACH(accept_the_dead),
        EACH(out_of_descriptors),
        EACH(wake),
        EACH(poll_comes_first),
        EACH(cancelled_poll),
        cmocka_unit_test(test_sends_not_taken),
        cmocka_unit_test(test_held_octets_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
