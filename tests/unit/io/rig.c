// SPDX-License-Identifier: MIT

#include "rig.h"

#include "io/uring_kernel.h"
#include "support/tables.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static rig *the_rig;

// ---- The owner of the streams ----

static void peer_keep(peer *p, const char *octets, size_t len)
{
    if (p->got_octets + len > p->got_room) {
        p->got_room = 2 * (p->got_octets + len);
        p->got = realloc(p->got, p->got_room);
        SKUA_ASSERT(p->got);
    }
    memcpy(p->got + p->got_octets, octets, len);
}

static void peer_received(io_stream *stream, char *octets, size_t len)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(stream->flags & IO_WANT_RECV);
    SKUA_ASSERT(p->connected == p->connects);
    SKUA_ASSERT(!(p->fin || p->reset || p->closed));
    SKUA_ASSERT(len > 0 && len <= (p->many ? IO_BULK_OCTETS : IO_RECV_OCTETS));
    if (len > p->longest) p->longest = len;
    if (p->many) io_expect_many(&the_rig->loop, stream);
    if (!the_rig->discards) peer_keep(p, octets, len);
    p->got_octets += len;
    memset(octets, 'x', len); // lent writable
    if (p->stops) io_recv_stop(stream);
}

static void peer_ended(io_stream *stream, io_end how)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(!p->reset && p->connected == p->connects);
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
    peer *p = (peer *)(void *)stream;
    if (!p->kicks) return;
    p->kicks++;
    io_kick(&the_rig->loop, stream);
}

static void peer_sent(io_stream *stream, uint64_t n)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(n > 0 || (stream->flags & IO_WANT_SEND));
    SKUA_ASSERT(((stream->flags & IO_WANT_SEND) == 0) == (p->out.octets == 0));
    if (n == 0) p->full++;
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

static void peer_connected(io_stream *stream, skua_status status)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(p->connects && !p->connected && !p->refusal);
    SKUA_ASSERT(!(stream->flags & IO_WANT_CLOSE));
    p->connected = status == SKUA_OK;
    p->refusal = status;
}

static void peer_send_failed(io_stream *stream)
{
    peer *p = (peer *)(void *)stream;
    SKUA_ASSERT(out_segment_at(&p->out, 0)->failed);
    p->send_failed = true;
}

// Accepted streams and those that connect have a table each.
static void accepted_expect(const io_stream *stream)
{
    SKUA_ASSERT(!((const peer *)(const void *)stream)->connects);
}

static void connecting_expect(const io_stream *stream)
{
    SKUA_ASSERT(((const peer *)(const void *)stream)->connects);
}

TABLE_OF_EVENTS(accepted, peer, NULL);
TABLE_OF_EVENTS(connecting, peer, peer_connected);

static peer *peer_take(rig *r)
{
    peer *p = pool_take(&r->peers);
    SKUA_ASSERT(p);
    out_init(&p->out, &r->store, p->segments, 48);
    p->stream.out = &p->out;
    return p;
}

static void rig_accepted(io_op *op, int64_t result)
{
    rig *r = op->user;
    if (result < 0) {
        SKUA_ASSERT(!op->active);
        r->refusal = result;
        return;
    }
    SKUA_ASSERT(op->active);
    peer *p = peer_take(r);
    io_stream_open(&p->stream, (int)result);
    io_address from = op->peer;
    if (from.family == 0) r->loop.backend->peer(&p->stream, &from);
    SKUA_ASSERT(from.family == 4 && from.octets[0] == 127);
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

// The backend of that kind; NULL: not here.
static const io_backend *rig_backend(rig_kind kind)
{
    switch (kind) {
    case RIG_MULTISHOT:
    case RIG_EACH: return &io_backend_uring;
    case RIG_EPOLL: return &io_backend_epoll;
    case RIG_KQUEUE: break;
    }
#ifdef IO_HAS_KQUEUE
    return &io_backend_kqueue;
#else
    return NULL;
#endif
}

bool rig_open(rig *r, rig_kind kind)
{
    const io_backend *backend = rig_backend(kind);
    if (!backend) return false;
    *r = (rig){ .kind = kind };
    the_rig = r;
    pool_init(&r->peers, (sizeof(peer) + 15) / 16 * 16, PEERS_MAX);
    block_store_init(&r->store, 4);
    r->loop.events[0] = &accepted_events;
    r->loop.events[IO_EVENTS_MAX - 1] = &connecting_events;
    r->loop.streams = &r->peers;
    r->loop.owner = r;
    r->loop.evict = rig_evict;
    r->loop.send_turn_octets_max = 1 << 20;
    skua_status status = io_loop_open(&r->loop, backend);
    if (status == SKUA_EACCES || status == SKUA_EUNSUPPORTED) {
        print_message("io_uring is not to be had here: %s\n", skua_status_text(status));
        return false;
    }
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(io_settle(&r->loop), SKUA_OK);
    if (backend == &io_backend_uring)
        ((uring_kernel *)r->loop.kernel)->multishot = kind == RIG_MULTISHOT;
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

void rig_turn(rig *r)
{
    assert_int_equal(io_turn(&r->loop, RIG_TURN_NS), SKUA_OK);
}

void rig_turns(rig *r, int n)
{
    while (n--)
        rig_turn(r);
}

void rig_finish(rig *r)
{
    io_cancel(&r->loop, &r->accept);
    socket_close(&r->address, r->accept.fd);
    assert_int_equal(r->peers.in_use, 0);
    io_loop_close(&r->loop);
    block_store_deinit(&r->store);
    pool_deinit(&r->peers);
}

int rig_connect(rig *r)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)(void *)r->address.octets, r->address.len), 0);
    return fd;
}

int rig_client(rig *r)
{
    unsigned before = r->accepted;
    int fd = rig_connect(r);
    RIG_UNTIL(r, r->accepted > before);
    return fd;
}

peer *rig_connect_out(rig *r, const socket_address *to)
{
    peer *p = peer_take(r);
    p->connects = true;
    io_stream_connect(&r->loop, &p->stream, IO_EVENTS_MAX - 1, to);
    SKUA_ASSERT(!p->connected && !p->refusal); // never from within the submission
    return p;
}

void rig_close(rig *r, peer *p)
{
    unsigned before = r->closed;
    if (p->resets) io_reset(&r->loop, &p->stream);
    else io_close(&r->loop, &p->stream);
    out_deinit(&p->out);
    RIG_UNTIL(r, r->closed > before);
    rig_turn(r); // in which the descriptor is closed, at the latest
}

void rig_close_all(rig *r)
{
    for (uint32_t slot = 0; slot < r->peers.slab_count * POOL_SLAB_ITEMS; slot++) {
        peer *p = pool_at(&r->peers, slot);
        if (!(p->stream.item.generation & 1)) continue;
        io_close(&r->loop, &p->stream);
        out_deinit(&p->out);
    }
    RIG_UNTIL(r, r->peers.in_use == 0);
    rig_turn(r);
}

char *pattern_of(size_t len)
{
    char *octets = malloc(len);
    assert_non_null(octets);
    for (size_t i = 0; i < len; i++)
        octets[i] = (char)(i * 2654435761u >> 11);
    return octets;
}

void write_all(int fd, const char *octets, size_t len)
{
    while (len) {
        ssize_t n = send(fd, octets, len, MSG_NOSIGNAL);
        assert_true(n > 0);
        octets += n;
        len -= (size_t)n;
    }
}

void reset_client(int fd)
{
    struct linger now = { .l_onoff = 1 };
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    (void)close(fd);
}

void rig_run(rig_kind kind, check *checks)
{
    rig r;
    if (!rig_open(&r, kind)) skip();
    checks(&r);
    rig_finish(&r);
}
