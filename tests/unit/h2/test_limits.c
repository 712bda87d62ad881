// SPDX-License-Identifier: MIT
//
// Budgets of HTTP/2: each is spent to its last unit, refills with time and with good use, and is
// never more than full.

#include "h2/limits.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { RESETS = 10, SMALL = 20 };

static const int64_t second = 1000000000;

static h2_limits full(void)
{
    const skua_http2_desc config = { .resets_max = RESETS,
                                     .resets_per_second = 4,
                                     .small_frames_max = SMALL,
                                     .small_frames_per_second = 8 };
    h2_limits limits;
    h2_limits_init(&limits, &config, second);
    return limits;
}

static void reset_times(h2_limits *limits, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_true(h2_limits_reset(limits, second));
}

// ---- Resets ----

static void test_h2_limits_resets_delay_at_zero(void **state)
{
    (void)state;
    h2_limits limits = full();
    reset_times(&limits, RESETS - 1);
    assert_false(h2_limits_delays(&limits, second));
    reset_times(&limits, 1);
    assert_true(h2_limits_delays(&limits, second));
}

static void test_h2_limits_resets_end_when_overdrawn_tenfold(void **state)
{
    (void)state;
    h2_limits limits = full();
    reset_times(&limits, RESETS + H2_RESETS_FACTOR * RESETS - 1);
    assert_false(h2_limits_reset(&limits, second));
}

// A fourth of a second is worth one.
static void test_h2_limits_resets_refill(void **state)
{
    (void)state;
    h2_limits limits = full();
    reset_times(&limits, RESETS);
    assert_true(h2_limits_delays(&limits, second + second / 4 - 1));
    assert_false(h2_limits_delays(&limits, second + second / 4));
    assert_int_equal(limits.resets.left, 1);
}

// Parts of a unit are not lost, however often it is looked at.
static void test_h2_limits_refill_in_small_steps(void **state)
{
    (void)state;
    h2_limits limits = full();
    reset_times(&limits, RESETS + 1);
    for (int64_t passed = 0; passed < second / 2; passed += second / 1000)
        assert_true(h2_limits_delays(&limits, second + passed));
    assert_false(h2_limits_delays(&limits, second + second / 2));
}

static void test_h2_limits_resets_are_never_more_than_full(void **state)
{
    (void)state;
    h2_limits limits = full();
    h2_limits_good_end(&limits);
    assert_int_equal(limits.resets.left, RESETS);
    reset_times(&limits, 2);
    assert_true(h2_limits_reset(&limits, 3600 * second));
    assert_int_equal(limits.resets.left, RESETS - 1);
    h2_limits_good_end(&limits);
    h2_limits_good_end(&limits);
    assert_int_equal(limits.resets.left, RESETS);
}

static void test_h2_limits_a_good_end_pays_for_a_reset(void **state)
{
    (void)state;
    h2_limits limits = full();
    for (unsigned i = 0; i < 20 * RESETS; i++) {
        assert_true(h2_limits_reset(&limits, second));
        h2_limits_good_end(&limits);
    }
    assert_false(h2_limits_delays(&limits, second));
    reset_times(&limits, RESETS);
    assert_true(h2_limits_delays(&limits, second));
    h2_limits_good_end(&limits);
    assert_false(h2_limits_delays(&limits, second));
}

// A clock that stands still or goes back gives nothing.
static void test_h2_limits_time_that_does_not_pass(void **state)
{
    (void)state;
    h2_limits limits = full();
    reset_times(&limits, RESETS);
    assert_true(h2_limits_delays(&limits, 0));
    assert_true(h2_limits_delays(&limits, second));
    assert_int_equal(limits.refilled_ns, second);
}

// ---- Small frames ----

static void spend_small(h2_limits *limits, unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        assert_true(h2_limits_small(limits, 0, second));
}

static void test_h2_limits_small_frames(void **state)
{
    (void)state;
    h2_limits limits = full();
    spend_small(&limits, SMALL);
    assert_false(h2_limits_small(&limits, 0, second));
}

static void test_h2_limits_small_frames_refill(void **state)
{
    (void)state;
    h2_limits limits = full();
    spend_small(&limits, SMALL);
    assert_true(h2_limits_small(&limits, 0, second + second / 8));
    assert_false(h2_limits_small(&limits, 0, second + second / 8));
    limits = full();
    spend_small(&limits, SMALL);
    assert_false(h2_limits_small(&limits, 0, second + second / 8 - 1));
}

static void test_h2_limits_small_frames_are_paid_for(void **state)
{
    (void)state;
    h2_limits limits = full();
    spend_small(&limits, SMALL);
    for (unsigned i = 0; i < 10 * SMALL; i++)
        assert_true(h2_limits_small(&limits, 1, second));
    assert_false(h2_limits_small(&limits, 0, second));
}

// Payment beyond the budget stays over time, up to H2_PAID_MAX.
static void test_h2_limits_payment_is_bounded(void **state)
{
    (void)state;
    h2_limits limits = full();
    assert_true(h2_limits_small(&limits, UINT32_MAX, second));
    assert_true(h2_limits_small(&limits, UINT32_MAX, second));
    assert_int_equal(limits.small.left, SMALL + H2_PAID_MAX - 1);
    assert_true(h2_limits_small(&limits, 0, 100 * second));
    assert_int_equal(limits.small.left, SMALL + H2_PAID_MAX - 2);
    for (unsigned i = 0; i < SMALL + H2_PAID_MAX - 2; i++)
        assert_true(h2_limits_small(&limits, 0, 100 * second));
    assert_false(h2_limits_small(&limits, 0, 100 * second));
}

// One budget does not draw on the other.
static void test_h2_limits_are_apart(void **state)
{
    (void)state;
    h2_limits limits = full();
    spend_small(&limits, SMALL);
    assert_int_equal(limits.resets.left, RESETS);
    reset_times(&limits, RESETS);
    assert_int_equal(limits.small.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_limits_resets_delay_at_zero),
        cmocka_unit_test(test_h2_limits_resets_end_when_overdrawn_tenfold),
        cmocka_unit_test(test_h2_limits_resets_refill),
        cmocka_unit_test(test_h2_limits_refill_in_small_steps),
        cmocka_unit_test(test_h2_limits_resets_are_never_more_than_full),
        cmocka_unit_test(test_h2_limits_a_good_end_pays_for_a_reset),
        cmocka_unit_test(test_h2_limits_time_that_does_not_pass),
        cmocka_unit_test(test_h2_limits_small_frames),
        cmocka_unit_test(test_h2_limits_small_frames_refill),
        cmocka_unit_test(test_h2_limits_small_frames_are_paid_for),
        cmocka_unit_test(test_h2_limits_payment_is_bounded),
        cmocka_unit_test(test_h2_limits_are_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
