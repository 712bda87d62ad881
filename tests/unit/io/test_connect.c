// SPDX-License-Identifier: MIT
//
// Connections that a loop opens, to itself or to what the test listens on, on each backend.

#include "rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

// Both ends are streams of the loop.
static peer *connect_both(rig *r, peer **other)
{
    unsigned before = r->accepted;
    peer *p = rig_connect_out(r, &r->address);
    RIG_UNTIL(r, p->connected && r->accepted > before);
    *other = r->last;
    return p;
}

static void say(rig *r, peer *from, peer *to, const char *words)
{
    size_t before = to->got_octets;
    assert_true(out_copy(&from->out, slice_of(words)));
    io_send(&r->loop, &from->stream);
    RIG_UNTIL(r, to->got_octets == before + strlen(words));
    assert_memory_equal(to->got + before, words, strlen(words));
}

static void check_both_ends(rig *r)
{
    peer *other, *p = connect_both(r, &other);
    io_recv(&r->loop, &p->stream);
    say(r, p, other, "a request");
    say(r, other, p, "a response");
    say(r, p, other, "another request");
    io_shutdown(&r->loop, &other->stream);
    RIG_UNTIL(r, p->fin);
    say(r, p, other, "and the rest");
    rig_close(r, other);
    rig_close(r, p);
}

// Requests made before the stream is connected are carried out once it is.
static void check_at_once(rig *r)
{
    peer *p = rig_connect_out(r, &r->address);
    assert_true(out_copy(&p->out, SKUA_SLICE("at once")));
    io_send(&r->loop, &p->stream);
    io_recv(&r->loop, &p->stream);
    io_kick(&r->loop, &p->stream);
    RIG_UNTIL(r, r->last && r->last->got_octets == 7);
    peer *other = r->last;
    assert_true(p->connected);
    say(r, other, p, "here");
    rig_close(r, other);
    RIG_UNTIL(r, p->fin);
    rig_close(r, p);
}

// The other side has ended before anybody wants to read from it.
static void check_end_is_near(rig *r)
{
    peer *other, *p = connect_both(r, &other);
    rig_turns(r, 3);
    rig_close(r, other);
    RIG_UNTIL(r, p->near);
    assert_false(p->fin);
    io_recv(&r->loop, &p->stream);
    RIG_UNTIL(r, p->fin);
    rig_close(r, p);
}

static void check_large(rig *r)
{
    enum { OCTETS = 3 << 20 };
    peer *other, *p = connect_both(r, &other);
    char *octets = pattern_of(OCTETS);
    out_lend(&p->out, slice_make(octets, OCTETS), NULL, NULL);
    io_send(&r->loop, &p->stream);
    RIG_UNTIL(r, other->got_octets == OCTETS);
    assert_memory_equal(other->got, octets, OCTETS);
    rig_close(r, p);
    RIG_UNTIL(r, other->fin);
    rig_close(r, other);
    free(octets);
}

static void refuse(rig *r, const socket_address *to, skua_status why)
{
    peer *p = rig_connect_out(r, to);
    io_recv(&r->loop, &p->stream);
    RIG_UNTIL(r, p->refusal);
    assert_int_equal(p->refusal, why);
    rig_turns(r, 3);
    assert_false(p->connected || p->near || p->fin || p->reset);
    rig_close(r, p);
}

static socket_address address_of(const char *text)
{
    socket_address address;
    assert_int_equal(socket_address_read(slice_of(text), &address), SKUA_OK);
    return address;
}

static void check_refused(rig *r)
{
    int fd;
    socket_address nobody = address_of("127.0.0.1:0");
    assert_int_equal(socket_listen(&nobody, 1, false, &fd), SKUA_OK);
    socket_close(&nobody, fd);
    refuse(r, &nobody, SKUA_ECLOSED);
    nobody = address_of("unix:/nowhere/at/all");
    refuse(r, &nobody, SKUA_ECLOSED);
    nobody = address_of("unix:@nobody listens here");
    refuse(r, &nobody, SKUA_ECLOSED);
}

static void check_no_descriptor(rig *r)
{
    struct rlimit before;
    rig_turns(r, 3);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = { .rlim_cur = 3, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    refuse(r, &r->address, SKUA_ENOFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

// A Unix socket is connected at once, or not at all.
static void check_unix(rig *r)
{
    enum { CLIENTS = 3 };
    int listener, ends[CLIENTS];
    peer *peers[CLIENTS];
    socket_address address = address_of("unix:@skua-test-connect");
    assert_int_equal(socket_listen(&address, CLIENTS - 1, false, &listener), SKUA_OK);
    for (int i = 0; i < CLIENTS; i++) {
        peers[i] = rig_connect_out(r, &address);
        RIG_UNTIL(r, peers[i]->connected);
    }
    refuse(r, &address, SKUA_ESTATE); // its queue is full
    for (int i = 0; i < CLIENTS; i++) {
        ends[i] = accept(listener, NULL, NULL);
        io_recv(&r->loop, &peers[i]->stream);
        write_all(ends[i], "here", 4);
        RIG_UNTIL(r, peers[i]->got_octets == 4);
        (void)close(ends[i]);
        rig_close(r, peers[i]);
    }
    socket_close(&address, listener);
}

// Nobody answers: the listener's queue is full, and its kernel silent.
static void check_closed_meanwhile(rig *r)
{
    int listener, fd[2];
    socket_address address = address_of("127.0.0.1:0");
    assert_int_equal(socket_listen(&address, 0, false, &listener), SKUA_OK);
    for (int i = 0; i < 2; i++) {
        fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fd[i], (struct sockaddr *)(void *)address.octets, address.len);
    }
    for (int resets = 0; resets < 2; resets++) {
        peer *p = rig_connect_out(r, &address);
        rig_turns(r, 5);
        assert_false(p->connected || p->refusal);
        p->resets = resets;
        rig_close(r, p);
    }
    peer *p = rig_connect_out(r, &r->address); // and one that has not even begun
    rig_close(r, p);
    if (r->last) rig_close(r, r->last);
    for (int i = 0; i < 2; i++)
        (void)close(fd[i]);
    socket_close(&address, listener);
}

ON_EACH(both_ends)
ON_EACH(at_once)
ON_EACH(end_is_near)
ON_EACH(large)
ON_EACH(refused)
ON_EACH(no_descriptor)
ON_EACH(unix)
ON_EACH(closed_meanwhile)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(both_ends), EACH(at_once),       EACH(end_is_near), EACH(large),
        EACH(refused),   EACH(no_descriptor), EACH(unix),        EACH(closed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
