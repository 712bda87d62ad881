// SPDX-License-Identifier: MIT
//
// Clients that send as fast as they may share a worker fairly, and do not keep one that asks for
// little waiting: with uploads and with tunnels, on each backend. Counted in turns of the loop, as
// seconds would depend on the machine. It has no script, and no transcript.

#include "scenarios/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum {
    CROWD_MAX = 256,
    CROWD_PIECE = 131072, // more than a client's share of a turn
    CROWD_TURNS = 12,
    CROWD_RECEIVE_OCTETS = 1 << 20,
    CROWD_DESCRIPTORS_MAX = 1024, // more than there are before the clients come
    PROBES = 3,
    PROBE_TURNS_MAX = 8,
    // A turn of the simulated kernel's runs a few streams only, which chance chooses.
    SIM_RECEIVE_OCTETS = 2048,
    SIM_SHARES = 60,
    SIM_TURN_STREAMS = 12,
};

static const char *backend; // under test

typedef struct crowd {
    host host;
    int count;
    wire members[CROWD_MAX], probe;
    uint64_t got[CROWD_MAX]; // by the handlers
    char *octets;
} crowd;

// ---- The server ----

static void crowd_content(skua_request *request, skua_content_event event, skua_slice octets,
                          void *user)
{
    uint64_t *got = user;
    if (event != SKUA_CONTENT_DATA) return;
    *got += octets.len;
    skua_content_consume(request, octets.len);
}

static uint64_t *crowd_count_of(skua_request *request, crowd *c)
{
    slice number = skua_request_param(request, "number");
    char digits[8] = "";
    assert_true(number.len < sizeof digits);
    memcpy(digits, number.ptr, number.len);
    return &c->got[strtoul(digits, NULL, 10)];
}

static void on_upload(skua_request *request, void *user)
{
    assert_int_equal(skua_content_read(request, crowd_content, crowd_count_of(request, user)), 0);
}

static void on_tunnel(skua_request *request, void *user)
{
    assert_int_equal(skua_upgrade(request, "count", NULL, NULL), SKUA_OK);
    assert_int_equal(skua_write(request, SKUA_SLICE("count me")), SKUA_OK);
    on_upload(request, user);
}

static void on_probe(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("here")), SKUA_OK);
}

static skua_server *crowd_server(crowd *c)
{
    bool sim = strcmp(backend, "sim") == 0; // which no configuration can choose
    skua_server *server = skua_server_new(&(skua_config){ .backend = sim ? NULL : backend });
    assert_non_null(server);
    assert_int_equal(skua_route(server, "POST /upload/{number}", on_upload, c), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /tunnel/{number}", on_tunnel, c), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /probe", on_probe, c), SKUA_OK);
    return server;
}

// Of its own accord the kernel lets some connections send twice as much as others. With a size that
// is set, which connections inherit from their listener, all may send more than a turn's share.
static void crowd_fix_buffers(void)
{
    int size = CROWD_RECEIVE_OCTETS, listens, found = 0;
    for (int fd = 0; fd < CROWD_DESCRIPTORS_MAX; fd++) {
        socklen_t len = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) || !listens) continue;
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
        found++;
    }
    assert_true(found > 0);
}

// ---- The clients ----

static void crowd_connect(crowd *c, wire *w, const char *request)
{
    wire_connect(w, &c->host, 0);
    assert_int_equal(wire_send(w, slice_of(request)), strlen(request));
    for (int i = 0; i < 4; i++) // the listener's queue is short
        (void)host_turn(&c->host, HOST_TIME_STANDS);
}

static void crowd_gather(crowd *c, const char *line, const char *fields)
{
    char request[160];
    for (int i = 0; i < c->count; i++) {
        (void)snprintf(request, sizeof request, "%s/%d HTTP/1.1\r\nHost: a\r\n%s\r\n", line, i,
                       fields);
        crowd_connect(c, &c->members[i], request);
    }
    crowd_connect(c, &c->probe, "GET /probe HTTP/1.1\r\nHost: a\r\n\r\n");
}

static void member_send(const crowd *c, wire *w)
{
    if (!w->end) (void)wire_send(w, slice_make(c->octets, CROWD_PIECE));
    else if (sim_client_unsent(w->end) < SIM_RECEIVE_OCTETS)
        (void)wire_send(w, slice_make(c->octets, 4 * SIM_RECEIVE_OCTETS));
    (void)wire_receive(w);
}

// A turn in which everybody has more to send than their share.
static void crowd_turn(crowd *c)
{
    for (int i = 0; i < c->count; i++)
        member_send(c, &c->members[i]);
    (void)host_turn(&c->host, HOST_TIME_STANDS);
}

// ---- What is fair ----

static void crowd_compare(const crowd *c)
{
    uint64_t least = UINT64_MAX, total = 0;
    for (int i = 0; i < c->count; i++) {
        if (c->got[i] < least) least = c->got[i];
        total += c->got[i];
    }
    assert_true(total > 0);
    if (least < total / (uint64_t)c->count / 2)
        fail_msg("of %d clients' %llu octets, one's are %llu", c->count, (unsigned long long)total,
                 (unsigned long long)least);
}

static void crowd_ask(crowd *c, int turns_max)
{
    for (int i = 0; i < PROBES; i++) {
        (void)wire_receive(&c->probe);
        size_t before = wire_received(&c->probe).len;
        assert_true(wire_send(&c->probe, SKUA_SLICE("GET /probe HTTP/1.1\r\nHost: a\r\n\r\n")));
        int turns = 0;
        for (; wire_received(&c->probe).len == before && turns <= turns_max; turns++) {
            crowd_turn(c);
            (void)wire_receive(&c->probe);
        }
        if (turns > turns_max) fail_msg("among %d clients a probe is not answered", c->count);
    }
}

static void crowd_leave(crowd *c)
{
    host_end(&c->host);
    for (int i = 0; i < c->count; i++)
        wire_free(&c->members[i]);
    wire_free(&c->probe);
    free(c->octets);
}

// The simulated kernel's chances even out over many turns.
static void crowd_play(crowd *c, const char *line, const char *fields, int count)
{
    sim_config sim = { .seed = 7, .recv_buffer_octets = SIM_RECEIVE_OCTETS };
    *c = (crowd){ .count = count, .octets = calloc(1, CROWD_PIECE) };
    assert_non_null(c->octets);
    if (!host_start(&c->host, crowd_server(c), backend, &sim)) {
        free(c->octets);
        skip();
    }
    if (!c->host.kernel) crowd_fix_buffers();
    crowd_gather(c, line, fields);
    bool chance = c->host.kernel;
    for (int i = 0; i < (chance ? SIM_SHARES * count / SIM_TURN_STREAMS : CROWD_TURNS); i++)
        crowd_turn(c);
    crowd_compare(c);
    crowd_ask(c, chance ? 2 * count : PROBE_TURNS_MAX);
    crowd_leave(c);
}

static void crowd_play_all(const char *line, const char *fields)
{
    static const int counts[] = { 32, 33, 34, 64, CROWD_MAX };
    static crowd c;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        crowd_play(&c, line, fields, counts[i]);
}

static void test_uploads_share_a_worker(void **state)
{
    (void)state;
    crowd_play_all("POST /upload", "Content-Length: 1000000000\r\n");
}

static void test_tunnels_share_a_worker(void **state)
{
    (void)state;
    crowd_play_all("GET /tunnel", "Connection: Upgrade\r\nUpgrade: count\r\n");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uploads_share_a_worker),
        cmocka_unit_test(test_tunnels_share_a_worker),
    };
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        backend = argv[i];
        failed += cmocka_run_group_tests_name(backend, tests, NULL, NULL);
    }
    return failed;
}
