// SPDX-License-Identifier: MIT
//
// Gathering and ordering of listings.

#include "files/listing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static bool add(listing *l, const char *name, skua_file_kind kind, uint64_t size, int64_t mtime_ns)
{
    return listing_add(name, &(skua_file_info){ .kind = kind, .size = size, .mtime_ns = mtime_ns },
                       l);
}

// names: in the order expected, separated by spaces.
static void expect_order(const listing *l, const char *names)
{
    char joined[512] = "";
    size_t len = 0;
    for (size_t i = 0; i < l->count; i++) {
        len += (size_t)snprintf(joined + len, sizeof joined - len, "%s%s", i ? " " : "",
                                l->entries[i].name);
    }
    assert_string_equal(joined, names);
}

static void fill(listing *l)
{
    *l = (listing){ 0 };
    assert_true(add(l, "b10", SKUA_FILE_REGULAR, 5, 300));
    assert_true(add(l, "B9", SKUA_FILE_REGULAR, 7, 200));
    assert_true(add(l, "zoo", SKUA_FILE_DIRECTORY, 4096, 100));
    assert_true(add(l, "a", SKUA_FILE_REGULAR, 7, 400));
    assert_true(add(l, "Dir", SKUA_FILE_DIRECTORY, 8192, 500));
    assert_true(add(l, "pipe", SKUA_FILE_OTHER, 0, 50));
}

static void test_listing_orders(void **state)
{
    (void)state;
    static const struct {
        listing_sort sort;
        bool descending;
        const char *names;
    } cases[] = {
        { LISTING_BY_NAME, false, "Dir zoo a B9 b10 pipe" },
        { LISTING_BY_NAME, true, "zoo Dir pipe b10 B9 a" },
        { LISTING_BY_SIZE, false, "Dir zoo pipe b10 a B9" },
        { LISTING_BY_SIZE, true, "zoo Dir B9 a b10 pipe" },
        { LISTING_BY_TIME, false, "zoo Dir pipe B9 b10 a" },
        { LISTING_BY_TIME, true, "Dir zoo a b10 B9 pipe" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        listing l;
        fill(&l);
        listing_order(&l, cases[i].sort, cases[i].descending);
        expect_order(&l, cases[i].names);
        listing_free(&l);
    }
}

static void test_listing_orders_numbers_by_value(void **state)
{
    (void)state;
    static const char *const names[] = { "v10.2",
                                         "v9.10",
                                         "v9.2",
                                         "v09.2",
                                         "x",
                                         "x1",
                                         "1",
                                         "",
                                         "v10",
                                         "10a",
                                         "0010",
                                         "2",
                                         "99999999999999999999999999",
                                         "100000000000000000000000000" };
    listing l = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(add(&l, names[i], SKUA_FILE_REGULAR, 0, 0));
    }
    listing_order(&l, LISTING_BY_NAME, false);
    expect_order(
        &l, " 1 2 0010 10a 99999999999999999999999999 100000000000000000000000000 v09.2 v9.2 v9.10 "
            "v10 v10.2 x x1");
    listing_free(&l);
}

// One order, whichever way they come in, for names that differ in anything at all.
static void test_listing_order_is_total(void **state)
{
    (void)state;
    static const char *const names[] = { "a",  "A",   "01", "1",    "001",
                                         "a1", "a01", "A1", "\xff", "\xc3\xa9" };
    enum { NAMES = sizeof names / sizeof *names };
    char first[512] = "";
    for (size_t turn = 0; turn < NAMES; turn++) {
        listing l = { 0 };
        char joined[512] = "";
        size_t len = 0;
        for (size_t i = 0; i < NAMES; i++) {
            assert_true(add(&l, names[(i * 3 + turn) % NAMES], SKUA_FILE_REGULAR, 0, 0));
        }
        listing_order(&l, LISTING_BY_NAME, false);
        for (size_t i = 0; i < NAMES; i++) {
            len += (size_t)snprintf(joined + len, sizeof joined - len, "%s/", l.entries[i].name);
        }
        if (turn == 0) memcpy(first, joined, sizeof first);
        assert_string_equal(joined, first);
        listing_free(&l);
    }
}

// In each order and from each entry on, whether it is there still or has been removed.
static void test_listing_goes_on_after_an_entry(void **state)
{
    (void)state;
    for (unsigned order = 0; order < 6; order++) {
        listing_sort sort = (listing_sort)(order / 2);
        bool descending = order % 2 != 0;
        listing l;
        fill(&l);
        listing_order(&l, sort, descending);
        for (size_t i = 0; i < l.count; i++) {
            listing_entry last = l.entries[i];
            assert_int_equal(listing_after(&l, &last, sort, descending), i + 1);
            listing others = { .entries = l.entries, .count = i }; // as if last had been the end
            assert_int_equal(listing_after(&others, &last, sort, descending), i);
            others = (listing){ .entries = l.entries + i + 1, .count = l.count - i - 1 };
            assert_int_equal(listing_after(&others, &last, sort, descending), 0);
        }
        listing_free(&l);
    }
}

static void test_listing_hides_dotfiles(void **state)
{
    (void)state;
    listing l = { 0 };
    assert_true(add(&l, ".git", SKUA_FILE_DIRECTORY, 0, 0));
    assert_true(add(&l, "a.b", SKUA_FILE_REGULAR, 0, 0));
    expect_order(&l, "a.b");
    l.dotfiles = true;
    assert_true(add(&l, ".git", SKUA_FILE_DIRECTORY, 0, 0));
    expect_order(&l, "a.b .git");
    listing_free(&l);
}

static void test_listing_is_cut_at_its_limit(void **state)
{
    (void)state;
    listing l = { 0 };
    char name[32];
    for (unsigned i = 0; i < LISTING_ENTRIES_MAX; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        assert_true(add(&l, name, SKUA_FILE_REGULAR, 0, 0));
        assert_false(l.cut);
    }
    assert_true(add(&l, ".hidden", SKUA_FILE_REGULAR, 0, 0));
    assert_false(l.cut);
    assert_false(add(&l, "more", SKUA_FILE_REGULAR, 0, 0));
    assert_true(l.cut);
    assert_int_equal(l.count, LISTING_ENTRIES_MAX);
    listing_free(&l);
}

static void test_listing_of_nothing(void **state)
{
    (void)state;
    listing l = { 0 };
    listing_order(&l, LISTING_BY_SIZE, true);
    assert_int_equal(l.count, 0);
    listing_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_orders),
        cmocka_unit_test(test_listing_orders_numbers_by_value),
        cmocka_unit_test(test_listing_order_is_total),
        cmocka_unit_test(test_listing_goes_on_after_an_entry),
        cmocka_unit_test(test_listing_hides_dotfiles),
        cmocka_unit_test(test_listing_is_cut_at_its_limit),
        cmocka_unit_test(test_listing_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
