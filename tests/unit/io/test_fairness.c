// SPDX-License-Identifier: MIT
//
// Streams that send as fast as they may share a loop fairly, and do not keep one that says little
// waiting. Counted in turns, as seconds would depend on the machine.

#include "rig.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CROWD_MAX = 256, CROWD_TURNS = 12, CROWD_PIECE = 131072, PROBES = 3, PROBE_TURNS_MAX = 8 };

// Clients whose sockets are kept full, and one that asks now and then.
typedef struct crowd {
    int count;
    int fds[CROWD_MAX], probe_fd;
    peer *peers[CROWD_MAX], *probe;
    char *octets;
} crowd;

static void crowd_gather(rig *r, crowd *c, int count)
{
    *c = (crowd){ .count = count, .octets = pattern_of(CROWD_PIECE) };
    r->discards = true;
    c->probe_fd = rig_client(r);
    c->probe = r->last;
    for (int i = 0; i < count; i++) {
        c->fds[i] = rig_client(r);
        c->peers[i] = r->last;
        assert_int_equal(fcntl(c->fds[i], F_SETFL, O_NONBLOCK), 0);
    }
    rig_turns(r, 3); // receiving is armed
}

static void crowd_leave(rig *r, crowd *c)
{
    for (int i = 0; i < c->count; i++)
        (void)close(c->fds[i]);
    (void)close(c->probe_fd);
    rig_close_all(r);
    free(c->octets);
}

// One turn in which every socket of the crowd's has more than its share of a turn.
static void crowd_turn(rig *r, const crowd *c)
{
    for (int i = 0; i < c->count; i++)
        (void)!send(c->fds[i], c->octets, CROWD_PIECE, MSG_NOSIGNAL);
    assert_int_equal(io_turn(&r->loop, 0), SKUA_OK);
}

// Each gets at least half of its share.
static void crowd_compare(const crowd *c)
{
    size_t least = SIZE_MAX, total = 0;
    for (int i = 0; i < c->count; i++) {
        size_t got = c->peers[i]->got_octets;
        if (got < least) least = got;
        total += got;
    }
    assert_true(total > 0);
    if (least < total / (size_t)c->count / 2)
        fail_msg("%d streams got %zu octets, and one of them %zu", c->count, total, least);
}

static void crowd_probe(rig *r, const crowd *c)
{
    for (size_t i = 1; i <= PROBES; i++) {
        write_all(c->probe_fd, "?", 1);
        int turns = 0;
        for (; c->probe->got_octets < i && turns <= PROBE_TURNS_MAX; turns++)
            crowd_turn(r, c);
        if (turns > PROBE_TURNS_MAX) fail_msg("among %d streams a probe is not heard", c->count);
    }
}

static void check_uploads_share(rig *r)
{
    static const int counts[] = { 32, 33, 34, 64, 256 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        crowd c;
        crowd_gather(r, &c, counts[i]);
        for (int turn = 0; turn < CROWD_TURNS; turn++)
            crowd_turn(r, &c);
        crowd_compare(&c);
        crowd_probe(r, &c);
        crowd_leave(r, &c);
    }
}

ON_EACH(uploads_share)

int main(void)
{
    const struct CMUnitTest tests[] = { EACH(uploads_share) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
