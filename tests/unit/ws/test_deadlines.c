// SPDX-License-Identifier: MIT
//
// Deadlines of sockets behind a time in which the worker could not turn: a handler kept it, or the process was stopped.

#include "io/sim_kernel.h"
#include "unit/bed.h"

#include <string.h>

#ifndef SKUA_NO_WEBSOCKET

enum { SOCKETS = 64 };

static const int64_t second_ns = 1000000000;

static bed b;
static sim_client *clients[SOCKETS];
static skua_socket sockets[SOCKETS];
static unsigned opened, closed, lost, told; // lost: without the peer's close

static void on_open(skua_socket socket, skua_request *r, void *user)
{
    (void)r, (void)user;
    sockets[opened++] = socket;
}

static void on_message(skua_socket socket, skua_slice message, bool text, void *user)
{
    (void)socket, (void)message, (void)text, (void)user;
    told++;
}

static void on_close(skua_socket socket, unsigned code, skua_slice reason, void *user)
{
    (void)socket, (void)reason, (void)user;
    closed++;
    if (code == 1006) lost++;
}

// desc: its deadlines.
static void open_sockets(skua_websocket_desc desc)
{
    const skua_config config = { .hosts = "*" };
    desc.open = on_open;
    desc.message = on_message;
    desc.close = on_close;
    opened = closed = lost = told = 0;
    bed_open(&b, &config);
    assert_int_equal(skua_websocket(b.server, "GET /", &desc), SKUA_OK);
    bed_start(&b);
    for (unsigned i = 0; i < SOCKETS; i++)
        clients[i] = bed_send(
            &b,
            SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                       "Sec-WebSocket-Version: 13\r\n"
                       "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"));
    bed_turn_for(&b, second_ns / 2);
}

// Nothing is turned meanwhile.
static void stand_still(int64_t ns)
{
    b.kernel->now_ns += ns;
}

static void say(const char *octets, size_t len)
{
    for (unsigned i = 0; i < SOCKETS; i++)
        assert_true(sim_client_send(clients[i], slice_make(octets, len)));
}

static unsigned pinged(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SOCKETS; i++) {
        slice got = sim_client_received(clients[i]);
        if (got.len > 2 && memcmp(got.ptr + got.len - 2, "\x89", 2) == 0) count++;
    }
    return count;
}

// More sockets have said something than the loop hears of in a turn.
static void test_what_was_said_meanwhile_is_heard(void **state)
{
    (void)state;
    open_sockets((skua_websocket_desc){ .ping_ns = -1, .idle_timeout_ns = 2 * second_ns });
    say("\x81\x81\0\0\0\0a", 7);
    stand_still(3 * second_ns);
    bed_turn_for(&b, second_ns);
    assert_int_equal(told, SOCKETS);
    assert_int_equal(closed, 0);
    bed_turn_for(&b, 2 * second_ns);
    assert_int_equal(closed, SOCKETS);
    bed_close(&b);
}

// A client that says nothing because it was asked nothing is asked first.
static void test_who_was_not_pinged_is_pinged_first(void **state)
{
    (void)state;
    open_sockets((skua_websocket_desc){ .ping_ns = second_ns, .idle_timeout_ns = 2 * second_ns });
    stand_still(3 * second_ns);
    bed_turn_for(&b, second_ns / 2);
    assert_int_equal(closed, 0);
    assert_int_equal(pinged(), SOCKETS);
    say("\x8a\x80\0\0\0\0", 6);
    bed_turn_for(&b, second_ns);
    assert_int_equal(closed, 0);
    bed_turn_for(&b, 2 * second_ns);
    assert_int_equal(closed, SOCKETS);
    bed_close(&b);
}

// The same while they are parked.
static void test_what_was_said_to_those_that_rest_is_heard(void **state)
{
    (void)state;
    open_sockets((skua_websocket_desc){ .ping_ns = -1, .idle_timeout_ns = 20 * second_ns });
    bed_turn_for(&b, 6 * second_ns);
    assert_int_equal(b.worker->self.parked.in_use, SOCKETS);
    say("\x81\x81\0\0\0\0a", 7);
    stand_still(30 * second_ns);
    bed_turn_for(&b, second_ns);
    assert_int_equal(told, SOCKETS);
    assert_int_equal(closed, 0);
    bed_close(&b);
}

static void test_closes_that_were_answered_meanwhile(void **state)
{
    (void)state;
    open_sockets((skua_websocket_desc){ .close_timeout_ns = 2 * second_ns });
    for (unsigned i = 0; i < SOCKETS; i++)
        assert_int_equal(skua_socket_close(sockets[i], 1000, SKUA_SLICE("")), SKUA_OK);
    bed_turn_for(&b, second_ns / 2);
    say("\x88\x82\0\0\0\0\x03\xe8", 8);
    stand_still(3 * second_ns);
    bed_turn_for(&b, second_ns);
    assert_int_equal(closed, SOCKETS);
    assert_int_equal(lost, 0);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_said_meanwhile_is_heard),
        cmocka_unit_test(test_who_was_not_pinged_is_pinged_first),
        cmocka_unit_test(test_what_was_said_to_those_that_rest_is_heard),
        cmocka_unit_test(test_closes_that_were_answered_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
