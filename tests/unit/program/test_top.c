// SPDX-License-Identifier: MIT
//
// Top: what counts most is kept, whatever else comes, and no more than there is room for.

#include "program/status/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static skua_slice numbered(unsigned number, char text[16])
{
    return (skua_slice){ text, (size_t)snprintf(text, 16, "/%u", number) };
}

static void expect_at(const top *t, unsigned at, const char *name, uint64_t weight)
{
    assert_true(at < t->count);
    assert_int_equal(t->entries[at].len, strlen(name));
    assert_memory_equal(t->entries[at].name, name, strlen(name));
    assert_int_equal(t->entries[at].weight, weight);
}

static void test_counts(void **state)
{
    (void)state;
    top t = { 0 };
    for (unsigned i = 0; i < 3; i++)
        top_count(&t, SKUA_SLICE("/b"), 1);
    top_count(&t, SKUA_SLICE("/c"), 1);
    top_count(&t, SKUA_SLICE("/a"), 1);
    top_order(&t);
    expect_at(&t, 0, "/b", 3);
    expect_at(&t, 1, "/a", 1);
    expect_at(&t, 2, "/c", 1);
    top_fade(&t);
    assert_int_equal(t.count, 1);
    expect_at(&t, 0, "/b", 1);
}

// One request in ten is for "/often"; the others have names that never come again.
static void test_a_flood_of_names_hides_nothing(void **state)
{
    (void)state;
    top t = { 0 };
    char text[16];
    for (unsigned i = 0; i < 100000; i++)
        top_count(&t, i % 10 ? numbered(i, text) : SKUA_SLICE("/often"), 1);
    assert_int_equal(t.count, TOP_ROOM);
    top_order(&t);
    assert_memory_equal(t.entries[0].name, "/often", 6);
    assert_in_range(t.entries[0].weight, 10000, 10000 + 100000 / TOP_ROOM);
}

static void test_values_are_the_greatest_of_an_hour(void **state)
{
    (void)state;
    top t = { 0 };
    char text[16];
    top_value(&t, SKUA_SLICE("/old"), 1000000, 1);
    for (unsigned i = 0; i < 1000; i++)
        top_value(&t, numbered(i % 200, text), i, 2);
    assert_int_equal(t.count, TOP_ROOM);
    top_value(&t, SKUA_SLICE("/199"), 5, 2);
    top_order(&t);
    expect_at(&t, 0, "/old", 1000000);
    expect_at(&t, 1, "/199", 999);
    expect_at(&t, TOP_ROOM - 1, "/137", 937);
    top_expire(&t, TOP_MINUTES);
    assert_int_equal(t.count, TOP_ROOM);
    top_expire(&t, TOP_MINUTES + 1);
    assert_int_equal(t.count, TOP_ROOM - 1);
    top_value(&t, SKUA_SLICE("/now"), 1, 2 + TOP_MINUTES);
    assert_int_equal(t.count, 1);
    expect_at(&t, 0, "/now", 1);
}

static void test_names_are_cut(void **state)
{
    (void)state;
    top t = { 0 };
    char name[TOP_NAME_OCTETS + 1];
    memset(name, 'a', sizeof name);
    top_count(&t, (skua_slice){ name, sizeof name }, 1);
    top_count(&t, (skua_slice){ name, TOP_NAME_OCTETS }, 1);
    top_count(&t, (skua_slice){ name, TOP_NAME_OCTETS - 1 }, 1);
    top_count(&t, (skua_slice){ NULL, 0 }, 1);
    assert_int_equal(t.count, 3);
    assert_int_equal(t.entries[0].weight, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_a_flood_of_names_hides_nothing),
        cmocka_unit_test(test_values_are_the_greatest_of_an_hour),
        cmocka_unit_test(test_names_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
