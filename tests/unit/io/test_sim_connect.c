// SPDX-License-Identifier: MIT
//
// Connections that a loop opens on the simulated kernel, to far ends that are function calls.

#include "support/echo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { SEEDS = 600, CONNECTIONS = 4, OCTETS = 30000, TURNS_MAX = 100000 };

static const char upstream[] = "192.0.2.80:80";

static socket_address address_of(const char *text)
{
    socket_address address;
    assert_int_equal(socket_address_read(slice_of(text), &address), SKUA_OK);
    return address;
}

static void test_connected(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 1 });
    socket_address to = address_of(upstream);
    int far = sim_far_open(b.kernel, &to);
    (void)echo_connect_out(&b, &to);
    assert_null(sim_far_accept(b.kernel, far));
    echo_settle(&b);
    assert_int_equal(b.connected, 1);
    sim_client *end = sim_far_accept(b.kernel, far);
    assert_non_null(end);
    assert_null(sim_far_accept(b.kernel, far));
    assert_true(sim_client_send(end, slice_of("hello")));
    echo_settle(&b);
    assert_int_equal(sim_client_received(end).len, 5);
    sim_client_shutdown(end);
    echo_settle(&b);
    assert_true(sim_client_is_eof(end));
    assert_int_equal(b.closed, 1);
    echo_finish(&b);
}

static void test_refused(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 2, .descriptors_max = 1 });
    socket_address to = address_of(upstream), elsewhere = address_of("192.0.2.81:80");
    assert_true(sim_far_open(b.kernel, &to) >= 0);
    (void)echo_connect_out(&b, &elsewhere); // where nobody is
    (void)echo_connect_out(&b, &to);        // without a descriptor
    echo_settle(&b);
    assert_int_equal(b.refused, 2);
    assert_int_equal(b.connected, 0);
    assert_int_equal(b.closed, 2);
    echo_finish(&b);
}

static void test_closed_meanwhile(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 50; seed++) {
        echo_bench b;
        echo_open(&b, &(sim_config){ .seed = seed, .permille = { [SIM_DELAY] = 700 } });
        socket_address to = address_of(upstream);
        int far = sim_far_open(b.kernel, &to);
        echo *e = echo_connect_out(&b, &to);
        for (uint64_t turns = 0; turns < seed % 3; turns++)
            echo_turn(&b, 0);
        if (!e->connected) echo_close(&b, e);
        unsigned connected = b.connected;
        echo_settle(&b);
        assert_int_equal(b.connected, connected);
        sim_client *end = sim_far_accept(b.kernel, far);
        if (end) sim_client_shutdown(end);
        echo_settle(&b);
        assert_int_equal(b.closed, 1);
        echo_finish(&b);
    }
}

static void test_unanswered(void **state)
{
    (void)state;
    echo_bench b;
    echo_open(&b, &(sim_config){ .seed = 3, .permille = { [SIM_CONNECT_UNANSWERED] = 1000 } });
    socket_address to = address_of(upstream);
    int far = sim_far_open(b.kernel, &to);
    echo *e = echo_connect_out(&b, &to);
    echo_settle(&b);
    io_kick(&b.loop, &e->stream);
    echo_settle(&b);
    assert_int_equal(b.kicks, 1);
    assert_int_equal(b.connected + b.refused, 0);
    echo_close(&b, e);
    echo_settle(&b);
    assert_int_equal(b.closed, 1);
    assert_null(sim_far_accept(b.kernel, far));
    echo_finish(&b);
}

// ---- With every fault ----

typedef struct wild {
    echo_bench bench;
    int far;
    sim_client *ends[CONNECTIONS];
    unsigned count;
} wild;

static void wild_accept(wild *w)
{
    static const char octets[OCTETS] = "much";
    sim_client *end = sim_far_accept(w->bench.kernel, w->far);
    if (!end) return;
    assert_true(w->count < CONNECTIONS);
    w->ends[w->count++] = end;
    assert_true(sim_client_send(end, slice_make(octets, sizeof octets)));
    sim_client_shutdown(end);
}

static void wild_check(const wild *w, unsigned *whole)
{
    assert_int_equal(w->bench.connected + w->bench.refused, CONNECTIONS);
    assert_int_equal(w->bench.closed, CONNECTIONS);
    for (unsigned i = 0; i < w->count; i++) {
        if (sim_client_is_reset(w->ends[i])) continue;
        assert_true(sim_client_is_eof(w->ends[i]));
        assert_int_equal(sim_client_received(w->ends[i]).len, OCTETS);
        ++*whole;
    }
}

static uint64_t wild_run(uint64_t seed, unsigned *whole, unsigned *refused)
{
    wild w = { .count = 0 };
    sim_config config = { .seed = seed, .send_buffer_octets = 4000 };
    for (int i = 0; i < SIM_FAULTS; i++)
        config.permille[i] = i == SIM_RESET ? 5 : (uint16_t)((seed >> i % 8) % 3 * 90);
    config.permille[SIM_CONNECT_UNANSWERED] = 0; // nobody here has a deadline
    echo_open(&w.bench, &config);
    socket_address to = address_of(upstream);
    w.far = sim_far_open(w.bench.kernel, &to);
    for (int i = 0; i < CONNECTIONS; i++)
        (void)echo_connect_out(&w.bench, &to);
    for (int turns = 0; w.bench.closed < CONNECTIONS; turns++) {
        assert_true(turns < TURNS_MAX);
        echo_turn(&w.bench, -1);
        wild_accept(&w);
    }
    echo_settle(&w.bench);
    wild_check(&w, whole);
    *refused += w.bench.refused;
    uint64_t hash = sim_hash(w.bench.kernel);
    echo_finish(&w.bench);
    return hash;
}

static void test_seeds_with_every_fault(void **state)
{
    (void)state;
    unsigned whole = 0, refused = 0, ignored = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t hash = wild_run(seed, &whole, &refused);
        if (seed % 10 == 0) assert_int_equal(wild_run(seed, &ignored, &ignored), hash);
    }
    assert_in_range(whole, SEEDS / 2, SEEDS * CONNECTIONS - 1);
    assert_in_range(refused, SEEDS / 10, SEEDS * CONNECTIONS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connected),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_closed_meanwhile),
        cmocka_unit_test(test_unanswered),
        cmocka_unit_test(test_seeds_with_every_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
