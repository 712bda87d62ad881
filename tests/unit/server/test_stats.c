// SPDX-License-Identifier: MIT
//
// Statistics: where durations are counted, quantiles, and the text of Prometheus at its longest.

#include "exchange/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static unsigned place_by_looking(int64_t ns)
{
    for (unsigned i = 0; i < SKUA_STATS_DURATIONS; i++) {
        if (ns <= skua_stats_bound_ns(i)) return i;
    }
    return SKUA_STATS_DURATIONS - 1;
}

static void durations_are_counted_in_the_first_place_that_is_no_shorter(void **state)
{
    (void)state;
    for (unsigned i = 0; i + 1 < SKUA_STATS_DURATIONS; i++) {
        int64_t bound = skua_stats_bound_ns(i);
        assert_true(bound < skua_stats_bound_ns(i + 1));
        for (int64_t ns = bound - 1; ns <= bound + 1 && ns > 0; ns++)
            assert_int_equal(figures_place(ns), place_by_looking(ns));
    }
    for (unsigned digits = 0; digits < 63; digits++) {
        int64_t power = INT64_C(1) << digits;
        assert_int_equal(figures_place(power), place_by_looking(power));
        assert_int_equal(figures_place(power - 1), place_by_looking(power - 1));
    }
    assert_int_equal(figures_place(-1), SKUA_STATS_DURATIONS - 1);
    assert_true(skua_stats_bound_ns(SKUA_STATS_DURATIONS - 1) == INT64_MAX);
    assert_true(skua_stats_bound_ns(UINT32_MAX) == INT64_MAX);
}

static void quantiles_lie_where_the_durations_do(void **state)
{
    (void)state;
    skua_stats stats = { 0 };
    assert_true(skua_stats_quantile_ns(&stats, 0.5) == 0);
    stats.durations[2][figures_place(2000)] = 90;   // above 1.5 us
    stats.durations[5][figures_place(5000000)] = 9; // above 3.5 ms
    stats.durations[0][SKUA_STATS_DURATIONS - 1] = 1;
    assert_in_range(skua_stats_quantile_ns(&stats, 0.5), 1500, 2000);
    assert_in_range(skua_stats_quantile_ns(&stats, 0.9), 1999, 2000);
    assert_in_range(skua_stats_quantile_ns(&stats, 0.95), 3500000, 5000000);
    assert_in_range(skua_stats_quantile_ns(&stats, 1), 10000000000, 10000000000);
    assert_true(skua_stats_quantile_ns(&stats, 2) == skua_stats_quantile_ns(&stats, 1));
    assert_true(skua_stats_quantile_ns(&stats, -1) == skua_stats_quantile_ns(&stats, 0));
    assert_in_range(skua_stats_quantile_ns(&stats, 0), 1500, 2000);
}

static void the_text_fits_whatever_the_counts(void **state)
{
    (void)state;
    skua_stats stats;
    memset(&stats, 0xff, sizeof stats);
    stats.counts_requests = true;
    static char text[20480], piece[20480];
    size_t len = skua_stats_write(&stats, text, sizeof text);
    assert_in_range(len, 1, sizeof text - 1);
    assert_int_equal(strlen(text), len);
    assert_int_equal(text[len - 1], '\n');
    // As far as there is room, and no further.
    assert_int_equal(skua_stats_write(&stats, NULL, 0), len);
    for (size_t room = 1; room <= len; room += 97) {
        memset(piece, '#', sizeof piece);
        assert_int_equal(skua_stats_write(&stats, piece, room), len);
        assert_memory_equal(piece, text, room - 1);
        assert_int_equal(piece[room - 1], 0);
        assert_int_equal(piece[room], '#');
    }
}

// Prometheus' bounds in seconds are places of the counts: what is said to be below one is.
static void no_duration_is_stated_below_a_bound_that_it_exceeds(void **state)
{
    (void)state;
    static char text[16384];
    for (unsigned place = 0; place < SKUA_STATS_DURATIONS; place++) {
        skua_stats stats = { .counts_requests = true };
        stats.durations[2][place] = 1;
        (void)skua_stats_write(&stats, text, sizeof text);
        const char *line = text;
        unsigned bounds = 0;
        while ((line = strstr(line, "_bucket{status=\"2xx\",le=\"")) != NULL) {
            line += strlen("_bucket{status=\"2xx\",le=\"");
            char *end = NULL;
            double bound = strtod(line, &end); // "+Inf" too
            bool within =
                isinf(bound) || (double)skua_stats_bound_ns(place) <= bound * 1e9 * (1 + 1e-9);
            assert_int_equal(strtol(end + 3, NULL, 10), within);
            bounds++;
        }
        assert_int_equal(bounds, 23);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_counted_in_the_first_place_that_is_no_shorter),
        cmocka_unit_test(quantiles_lie_where_the_durations_do),
        cmocka_unit_test(the_text_fits_whatever_the_counts),
        cmocka_unit_test(no_duration_is_stated_below_a_bound_that_it_exceeds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
