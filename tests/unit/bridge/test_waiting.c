// SPDX-License-Identifier: MIT
//
// Publications that wait for the store, and what becomes of a server that is to have a bridge when memory runs out.

#include "bridge/waiting.h"
#include "server/server.h"

#include "support/memory.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static skua_server *server;

static int make_server(void **state)
{
    (void)state;
    server = skua_server_new(NULL);
    if (!server) return -1;
    budget_init(&server->memory, 1 << 20, 1);
    return 0;
}

static int free_server(void **state)
{
    (void)state;
    assert_int_equal(budget_octets(&server->memory), 0); // every message has gone
    skua_server_free(server);
    return 0;
}

static size_t one_octets(void)
{
    return topic_message_size(SKUA_SLICE("topic"),
                              &(skua_publication){ .octets = SKUA_SLICE("m") });
}

static unsigned add(bridge_waiting *waiting, size_t octets_max)
{
    topic_message *m = topic_message_new(server, SKUA_SLICE("topic"),
                                         &(skua_publication){ .octets = SKUA_SLICE("m") });
    assert_non_null(m);
    unsigned dropped = bridge_waiting_add(waiting, m, octets_max);
    topic_message_release(m);
    return dropped;
}

static void test_in_order(void **state)
{
    (void)state;
    bridge_waiting waiting = { .first = NULL };
    assert_true(bridge_waiting_before(&waiting) == 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(&waiting, SIZE_MAX), 0);
    assert_true(bridge_waiting_send(&waiting)->number == 1);
    assert_true(bridge_waiting_send(&waiting)->number == 2);
    assert_int_equal(waiting.sent, 2);
    bridge_waiting_taken(&waiting);
    assert_true(bridge_waiting_before(&waiting) == 1);
    bridge_waiting_again(&waiting);
    assert_true(bridge_waiting_send(&waiting)->number == 2);
    assert_true(bridge_waiting_send(&waiting)->number == 3);
    bridge_waiting_taken(&waiting);
    bridge_waiting_taken(&waiting);
    assert_null(waiting.first);
    assert_int_equal(waiting.octets, 0);
    assert_int_equal(waiting.sent_octets, 0);
    assert_true(bridge_waiting_before(&waiting) == 3);
    assert_int_equal(add(&waiting, SIZE_MAX), 0);
    assert_true(bridge_waiting_send(&waiting)->number == 4);
    bridge_waiting_drop(&waiting);
}

// The edge of waiting_octets_max: the oldest that is not under way goes.
static void test_too_many(void **state)
{
    (void)state;
    bridge_waiting waiting = { .first = NULL };
    size_t room = 4 * one_octets();
    for (int i = 0; i < 4; i++)
        assert_int_equal(add(&waiting, room), 0);
    (void)bridge_waiting_send(&waiting);
    assert_int_equal(add(&waiting, room), 1); // 2 goes: 1 is under way
    assert_true(waiting.first->number == 1);
    assert_true(waiting.first->next->number == 3);
    assert_int_equal(add(&waiting, room - 1), 2); // 3 and 4
    assert_true(waiting.first->next->number == 5);
    bridge_waiting_again(&waiting);
    assert_int_equal(add(&waiting, one_octets()), 3); // 1, 5 and 6
    assert_true(waiting.first->number == 7 && waiting.last->number == 7);
    assert_int_equal(add(&waiting, one_octets() - 1), 2); // itself, too
    assert_null(waiting.first);
    assert_null(waiting.last);
    assert_true(bridge_waiting_before(&waiting) == 8);
    bridge_waiting_drop(&waiting);
}

static void test_no_memory(void **state)
{
    (void)state;
    bridge_waiting waiting = { .first = NULL };
    topic_message *m = topic_message_new(server, SKUA_SLICE("topic"), &(skua_publication){ 0 });
    assert_non_null(m);
    memory_fail_after(0);
    unsigned dropped = bridge_waiting_add(&waiting, m, SIZE_MAX);
    memory_relax();
    assert_int_equal(dropped, 1);
    assert_true(waiting.numbered == 1); // which others notice
    topic_message_release(m);
    bridge_waiting_drop(&waiting);
}

// Each allocation of skua_topic_bridge fails in turn; the server can have one afterwards.
static void test_setup_without_memory(void **state)
{
    (void)state;
    const skua_topic_bridge_desc desc = { .url = "redis://store", .gap_text = "gap" };
    skua_status status = SKUA_ENOMEM;
    for (unsigned n = 0; status == SKUA_ENOMEM; n++) {
        assert_true(n < 20);
        memory_fail_after(n);
        status = skua_topic_bridge(server, &desc);
        memory_relax();
    }
#ifdef SKUA_REDIS
    assert_int_equal(status, SKUA_OK);
    assert_int_equal(skua_topic_bridge(server, &desc), SKUA_EEXIST);
#else
    assert_int_equal(status, SKUA_EUNSUPPORTED);
#endif
}

#ifdef SKUA_REDIS
static void test_limits_of_a_description(void **state)
{
    (void)state;
    char stream[514], text[4098];
    memset(stream, 'x', sizeof stream);
    memset(text, 'x', sizeof text);
    stream[513] = text[4097] = 0;
    const skua_topic_bridge_desc wrong[] = {
        { .url = "http://store" },
        { .url = "redis://store", .message_octets_max = 8388609 },
        { .url = "redis://store", .waiting_octets_max = SIZE_MAX },
        { .url = "redis://store", .retained_max = UINT64_MAX },
        { .url = "redis://store", .stream = "" },
        { .url = "redis://store", .stream = stream },
        { .url = "redis://store", .gap_text = text },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(skua_topic_bridge(server, &wrong[i]), SKUA_EINVAL);
        assert_true(skua_server_error(server)[0] != 0);
    }
    assert_int_equal(
        skua_topic_bridge(server, &(skua_topic_bridge_desc){ .url = "redis://store",
                                                             .stream = stream + 1,
                                                             .gap_text = text + 1,
                                                             .message_octets_max = 8388608 }),
        SKUA_OK);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_in_order, make_server, free_server),
        cmocka_unit_test_setup_teardown(test_too_many, make_server, free_server),
        cmocka_unit_test_setup_teardown(test_no_memory, make_server, free_server),
        cmocka_unit_test_setup_teardown(test_setup_without_memory, make_server, free_server),
#ifdef SKUA_REDIS
        cmocka_unit_test_setup_teardown(test_limits_of_a_description, make_server, free_server),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
