// SPDX-License-Identifier: MIT
//
// Messages in memory: buffers that are kept for the next ones, and messages that are sent from where they lie.

#include "ws/message.h"

#include "base/budget.h"
#include "ws/spare.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#ifndef SKUA_NO_WEBSOCKET

static budget all;
static skua_worker worker;

static int begin(void **state)
{
    (void)state;
    memset(&worker, 0, sizeof worker);
    budget_init(&all, 64 << 20, 1);
    lease_init(&worker.memory, &all, 0, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ws_spare_free_all(&worker);
    assert_int_equal(worker.memory.used, 0);
    lease_end(&worker.memory);
    return 0;
}

static ws_message *message_of(size_t octets)
{
    ws_message *m = ws_message_new(&worker, octets, octets);
    assert_non_null(m);
    assert_true(m->room >= octets);
    memset(m->octets, 'x', octets);
    m->len = octets;
    return m;
}

static void test_a_buffer_serves_the_next_message(void **state)
{
    (void)state;
    ws_message *m = message_of(65536);
    ws_message_drop(m);
    assert_true(worker.memory.used > 65536);
    ws_message *shorter = message_of(20000);
    assert_ptr_equal(shorter, m);
    assert_int_equal(shorter->len, 20000);
    assert_int_equal(shorter->framed, 0);
    ws_message_drop(shorter);
}

static void test_what_is_kept_is_bounded(void **state)
{
    (void)state;
    static const size_t octets[] = { WS_SPARE_OCTETS_MAX, WS_SPARE_OCTETS_MIN, 65536, 65536 };
    ws_message *m[sizeof octets / sizeof octets[0]];
    for (size_t i = 0; i < sizeof octets / sizeof octets[0]; i++)
        m[i] = message_of(octets[i]);
    for (size_t i = 0; i < sizeof octets / sizeof octets[0]; i++)
        ws_message_drop(m[i]);
    // the longest is too long with its head, and the short one has made room for a longer one
    assert_true(worker.memory.used <= 2 * (65536 + 256));
    assert_true(worker.memory.used >= 2 * 65536);
    void *first = ws_spare_find(&worker, 65536), *second = ws_spare_find(&worker, 65536);
    assert_non_null(first);
    assert_non_null(second);
    assert_null(ws_spare_find(&worker, 1));
    ws_spare_give(&worker, first);
    ws_spare_give(&worker, second);
}

static void test_short_ones_are_not_kept(void **state)
{
    (void)state;
    ws_message_drop(message_of(4096));
    assert_int_equal(worker.memory.used, 0);
}

static void test_nothing_is_kept_while_memory_is_scarce(void **state)
{
    (void)state;
    worker.pressure = BUDGET_SCARCE;
    ws_message_drop(message_of(65536));
    assert_int_equal(worker.memory.used, 0);
}

static void test_a_sweep_frees_what_was_not_used_since_the_last(void **state)
{
    (void)state;
    ws_message_drop(message_of(65536));
    assert_int_equal(ws_spare_sweep(&worker), 0);
    ws_message_drop(message_of(65536)); // used
    assert_int_equal(ws_spare_sweep(&worker), 0);
    assert_true(ws_spare_sweep(&worker) >= 65536);
    assert_int_equal(worker.memory.used, 0);
}

static void test_a_message_grows_where_nothing_is_kept(void **state)
{
    (void)state;
    ws_message *m = message_of(100);
    assert_true(ws_message_resize(&m, 9000));
    assert_int_equal(m->room, 9000);
    assert_int_equal(m->len, 100);
    assert_int_equal(m->octets[99], 'x');
    ws_message_drop(m);
}

static void test_a_message_is_framed_where_it_lies(void **state)
{
    (void)state;
    slice frame, another;
    ws_message *m = message_of(65536);
    slice whole = slice_make(m->octets, m->len);
    assert_null(ws_message_frame(&worker, WS_BINARY, whole, &frame)); // nobody is told of it
    worker.told = m;
    assert_ptr_equal(ws_message_frame(&worker, WS_BINARY, whole, &frame), m);
    assert_int_equal(frame.len, 65536 + 10);
    assert_memory_equal(frame.ptr, "\x82\x7f\0\0\0\0\0\1\0\0x", 11);
    assert_ptr_equal(ws_message_frame(&worker, WS_BINARY, whole, &another), m);
    assert_ptr_equal(another.ptr, frame.ptr);
    assert_null(ws_message_frame(&worker, WS_TEXT, whole, &another)); // a queue has the other head
    assert_null(ws_message_frame(&worker, WS_BINARY, slice_from(whole, 1), &another));
    worker.told = NULL;
    ws_message_drop(m); // the session's
    assert_int_equal(frame.ptr[frame.len - 1], 'x');
    ws_message_drop(m);
    ws_message_drop(m);
    assert_ptr_equal(ws_spare_find(&worker, 65536), m);
    ws_spare_give(&worker, m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_buffer_serves_the_next_message, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_kept_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(test_short_ones_are_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_nothing_is_kept_while_memory_is_scarce, begin, end),
        cmocka_unit_test_setup_teardown(test_a_sweep_frees_what_was_not_used_since_the_last, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_message_grows_where_nothing_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(test_a_message_is_framed_where_it_lies, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
