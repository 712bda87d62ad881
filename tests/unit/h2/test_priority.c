// SPDX-License-Identifier: MIT
//
// Priorities: values of the field, as RFC 9218 §4 and RFC 8941 have them, and those that are kept for
// streams that are to come.

#include "h2/priority.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const struct {
    const char *value;
    unsigned urgency;
    bool incremental;
} cases[] = {
    { "", 3, false },
    { "u=0", 0, false },
    { "u=7", 7, false },
    { "u=8", 3, false },
    { "u=-1", 3, false },
    { "u=10", 3, false },
    { "u=", 3, false },
    { "u", 3, false },
    { "U=1", 3, false },
    { "u=1.0", 3, false },
    { "u=?1", 3, false },
    { "i", 3, true },
    { "i=?1", 3, true },
    { "i=?0", 3, false },
    { "i=?2", 3, false },
    { "i=1", 3, false },
    { "i=", 3, false },
    { "I", 3, false },
    { "u=1,i", 1, true },
    { "u=1, i", 1, true },
    { "i, u=1", 1, true },
    { " \tu=5 \t,\t i ", 5, true },
    { ",,u=2,,", 2, false },
    { ";", 3, false },
    // The last one of a name holds.
    { "u=1, u=6", 6, false },
    { "i, i=?0", 3, false },
    { "i=?0, i", 3, true },
    // One that cannot be read changes nothing.
    { "u=2, u=9", 2, false },
    { "i, i=3", 3, true },
    // Parameters and other members mean nothing here.
    { "u=4;a=1", 4, false },
    { "i;a", 3, true },
    { "i;u=1", 3, true },
    { "a=1, u=4, b, i", 4, true },
    { "au=1, ui", 3, false },
};

// Each value stands before a page that must not be read.
static void test_h2_priority_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slice value = slice_of(cases[i].value);
        char *guarded = guarded_copy(value.ptr, value.len);
        h2_priority read = h2_priority_read(slice_make(guarded, value.len));
        if (read.urgency != cases[i].urgency || read.incremental != cases[i].incremental)
            fail_msg("%s: urgency %d, incremental %d", cases[i].value, read.urgency,
                     read.incremental);
        guarded_free(guarded, value.len);
    }
}

// The octets before and behind each of "u=3" and "i=?1" are no digits and no booleans.
static void test_h2_priority_each_octet(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++) {
        char urgency[] = { 'u', '=', (char)c }, incremental[] = { 'i', '=', '?', (char)c };
        h2_priority read = h2_priority_read(slice_make(urgency, sizeof urgency));
        assert_int_equal(read.urgency, c >= '0' && c <= '7' ? c - '0' : 3);
        read = h2_priority_read(slice_make(incremental, sizeof incremental));
        assert_int_equal(read.incremental, c == '1');
        assert_int_equal(read.urgency, 3);
    }
}

// ---- Streams that are to come ----

enum { STREAMS_MAX = 2 };

static void expect_kept(const h2_session *s, uint32_t number, unsigned urgency)
{
    h2_priority priority = { .urgency = 0 };
    assert_true(h2_priority_find(s, number, &priority));
    assert_int_equal(priority.urgency, urgency);
}

// As many are kept as streams may be open. One that has been opened makes room for another.
static void test_h2_priority_kept(void **state)
{
    (void)state;
    static skua_worker worker;
    static h2_session s;
    budget whole;
    budget_init(&whole, 1 << 20, 1);
    lease_init(&worker.memory, &whole, 0, NULL);
    const skua_config config = { .http2.streams_max = STREAMS_MAX };
    worker.config = &config;
    s.base.worker = &worker;
    h2_priority found;
    assert_false(h2_priority_find(&s, 1, &found));
    assert_true(h2_priority_keep(&s, 1, (h2_priority){ .urgency = 5 }));
    assert_true(h2_priority_keep(&s, 3, (h2_priority){ .urgency = 6 }));
    assert_false(h2_priority_keep(&s, 5, (h2_priority){ .urgency = 7 }));
    assert_false(h2_priority_find(&s, 5, &found));
    assert_true(h2_priority_keep(&s, 3, (h2_priority){ .urgency = 2 }));
    expect_kept(&s, 1, 5);
    expect_kept(&s, 3, 2);
    s.last_stream = 1;
    assert_true(h2_priority_keep(&s, 5, (h2_priority){ .urgency = 7 }));
    assert_false(h2_priority_find(&s, 1, &found));
    expect_kept(&s, 3, 2);
    expect_kept(&s, 5, 7);
    counted_free(s.early);
    assert_int_equal(worker.memory.used, 0);
    lease_end(&worker.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_priority_values),
        cmocka_unit_test(test_h2_priority_each_octet),
        cmocka_unit_test(test_h2_priority_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
