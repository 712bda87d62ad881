// SPDX-License-Identifier: MIT
//
// Lanes: lines come out as they went in, whole, however they fall on blocks, and memory is bounded
// and given back.

#include "log/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

// A line of that length, made of one octet.
static slice line_of(char *text, size_t len, char octet)
{
    memset(text, octet, len);
    return slice_make(text, len);
}

// Takes everything, at most so many octets at a time, and checks that it is lines of len octets.
static size_t take_all(lane *l, size_t len, size_t most)
{
    size_t octets = 0;
    for (slice lines; (lines = lane_peek(l)).len;) {
        if (lines.len > most) lines.len = most;
        for (size_t i = 0; i < lines.len; i++)
            assert_int_equal(lines.ptr[i], 'a' + (char)((octets + i) / len % 26));
        octets += lines.len;
        lane_take(l, lines.len);
    }
    assert_true(lane_is_empty(l));
    return octets;
}

static void lines_of_any_length_come_out_as_they_went_in(void **state)
{
    (void)state;
    static const size_t lengths[] = { 1, 80, 21840, 32767, LANE_LINE_OCTETS_MAX };
    static char text[LANE_LINE_OCTETS_MAX];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t count = (300000 / lengths[i] + 1) / 26 * 26 + 26;
        lane_memory memory = { .octets_max = 1 << 26 };
        lane l;
        assert_true(lane_init(&l, &memory));
        assert_true(lane_is_empty(&l));
        for (size_t n = 0; n < count; n++)
            assert_true(lane_push(&l, line_of(text, lengths[i], (char)('a' + n % 26))) !=
                        LANE_LOST);
        assert_int_equal(take_all(&l, lengths[i], i % 2 ? 1000 : SIZE_MAX), count * lengths[i]);
        assert_true(lane_blocks(&l) <= LANE_BLOCKS_MIN);
        lane_deinit(&l);
        assert_int_equal(memory.octets, 0);
    }
}

static void a_lane_has_two_blocks_whatever_the_others_hold(void **state)
{
    (void)state;
    static char text[LANE_LINE_OCTETS_MAX];
    lane_memory memory = { .octets_max = 0 };
    lane l;
    assert_true(lane_init(&l, &memory));
    slice line = line_of(text, LANE_LINE_OCTETS_MAX, 'a');
    assert_int_equal(lane_push(&l, line), LANE_ADDED);
    assert_int_equal(lane_push(&l, line), LANE_GREW); // a block holds a little less than two
    assert_int_equal(lane_push(&l, line), LANE_LOST);
    assert_int_equal(lane_push(&l, line), LANE_LOST);
    assert_int_equal(lane_lost_now(&l), 2);
    assert_int_equal(lane_lost_now(&l), 0);
    for (int i = 0; i < 10; i++) { // and goes on with them
        assert_int_equal(lane_peek(&l).len, line.len);
        lane_take(&l, line.len);
        assert_int_equal(lane_peek(&l).len, line.len);
        assert_int_equal(lane_push(&l, line), LANE_GREW);
    }
    assert_int_equal(memory.octets, 2 * LANE_BLOCK_OCTETS);
    assert_int_equal(lane_lost_now(&l), 0);
    lane_deinit(&l);
}

static void lanes_share_their_memory(void **state)
{
    (void)state;
    static char text[LANE_LINE_OCTETS_MAX];
    lane_memory memory = { .octets_max = 10 * LANE_BLOCK_OCTETS };
    lane greedy, modest;
    assert_true(lane_init(&greedy, &memory) && lane_init(&modest, &memory));
    slice line = line_of(text, LANE_LINE_OCTETS_MAX, 'a');
    while (lane_push(&greedy, line) != LANE_LOST)
        continue;
    assert_int_equal(memory.octets, 10 * LANE_BLOCK_OCTETS);
    assert_int_equal(lane_push(&modest, line), LANE_ADDED);
    assert_int_equal(lane_push(&modest, line), LANE_GREW);
    assert_int_equal(lane_push(&modest, line), LANE_LOST);
    (void)take_all(&greedy, LANE_LINE_OCTETS_MAX * 100, SIZE_MAX);
    assert_int_equal(lane_push(&modest, line), LANE_GREW);
    lane_deinit(&greedy);
    lane_deinit(&modest);
    assert_int_equal(memory.octets, 0);
}

// Blocks that a lane has in any case are no client's doing.
static void a_budget_counts_what_more_lanes_hold(void **state)
{
    (void)state;
    static char text[LANE_LINE_OCTETS_MAX];
    budget of;
    budget_init(&of, 1 << 20, 1);
    lane_memory memory = { .octets_max = 10 * LANE_BLOCK_OCTETS, .of = &of };
    lane l;
    assert_true(lane_init(&l, &memory));
    slice line = line_of(text, LANE_LINE_OCTETS_MAX, 'a');
    assert_int_equal(lane_push(&l, line), LANE_ADDED);
    assert_int_equal(lane_push(&l, line), LANE_GREW);
    assert_int_equal(budget_octets(&of), 0);
    while (lane_push(&l, line) != LANE_LOST)
        continue;
    assert_int_equal(budget_octets(&of), 8 * LANE_BLOCK_OCTETS);
    (void)take_all(&l, LANE_LINE_OCTETS_MAX * 100, SIZE_MAX);
    assert_true(budget_octets(&of) <= 2 * LANE_BLOCK_OCTETS);
    lane_deinit(&l);
    assert_int_equal(budget_octets(&of), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_any_length_come_out_as_they_went_in),
        cmocka_unit_test(a_lane_has_two_blocks_whatever_the_others_hold),
        cmocka_unit_test(lanes_share_their_memory),
        cmocka_unit_test(a_budget_counts_what_more_lanes_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
