// SPDX-License-Identifier: MIT
//
// A deadline is put off a limited number of times for input that waits. The count begins anew when
// the deadline is found to be one that the connection may still use.

#include "server/connection.h"
#include "unit/bed.h"

static const int64_t second_ns = 1000000000;

static void on_later(skua_request *r, void *user)
{
    assert_int_equal(skua_ticket_take(r, user), SKUA_OK);
}

static void on_content(skua_request *r, skua_content_event event, skua_slice octets, void *user)
{
    (void)event, (void)user;
    skua_content_consume(r, octets.len);
}

static void on_tunnel(skua_request *r, void *user)
{
    (void)user;
    assert_int_equal(skua_upgrade(r, "echo", NULL, NULL), SKUA_OK);
    assert_int_equal(skua_content_read(r, on_content, NULL), SKUA_OK);
}

static void open_bed(bed *b, skua_ticket *ticket)
{
    bed_open(b, &(skua_config){ .unanswered_log_ns = second_ns });
    assert_int_equal(skua_route(b->server, "GET /later", on_later, ticket), SKUA_OK);
    assert_int_equal(skua_route(b->server, "GET /tunnel", on_tunnel, NULL), SKUA_OK);
    bed_start(b);
}

// The only connection, once the request has come to its handler.
static connection *connect_to(const bed *b, sim_client **client, slice request)
{
    *client = bed_send(b, request);
    bed_turn_for(b, second_ns / 10);
    pool_item *item = pool_at(&b->worker->connections, 0);
    assert_true(item->generation & 1);
    return (connection *)(void *)item;
}

static void test_a_handler_that_may_take_longer_is_looked_at_anew(void **state)
{
    (void)state;
    bed b;
    sim_client *client;
    skua_ticket ticket;
    open_bed(&b, &ticket);
    connection *conn =
        connect_to(&b, &client, SKUA_SLICE("GET /later HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_int_equal(conn->state, CONNECTION_HANDLER);
    conn->looks = 7;
    bed_turn_for(&b, 2 * second_ns);
    assert_int_equal(conn->state, CONNECTION_HANDLER);
    assert_int_equal(conn->looks, 0);
    bed_close(&b);
}

static void test_a_tunnel_in_which_octets_move_is_looked_at_anew(void **state)
{
    (void)state;
    bed b;
    sim_client *client;
    skua_ticket ticket;
    open_bed(&b, &ticket);
    connection *conn = connect_to(&b, &client,
                                  SKUA_SLICE("GET /tunnel HTTP/1.1\r\nHost: localhost\r\n"
                                             "Connection: upgrade\r\nUpgrade: echo\r\n\r\n"));
    assert_int_equal(conn->state, CONNECTION_STREAM);
    conn->looks = 7;
    assert_true(sim_client_send(client, SKUA_SLICE("octets")));
    bed_turn_for(&b, second_ns / 10);
    assert_int_equal(conn->state, CONNECTION_STREAM);
    assert_int_equal(conn->looks, 0);
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_handler_that_may_take_longer_is_looked_at_anew),
        cmocka_unit_test(test_a_tunnel_in_which_octets_move_is_looked_at_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
