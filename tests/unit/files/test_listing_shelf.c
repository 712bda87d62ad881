// SPDX-License-Identifier: MIT
//
// The shelf of listings: what is found, what is driven out, and what stays while it is read.

#include "files/listing_shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static slice path_of(unsigned number, char text[32])
{
    int len = snprintf(text, 32, "/%u/", number);
    return slice_make(text, (size_t)len);
}

static void put(listing_shelf *shelf, unsigned number)
{
    char text[32];
    shelved *item = shelved_new(path_of(number, text), LISTING_BY_NAME, false);
    assert_non_null(item);
    assert_true(listing_add("a", &(skua_file_info){ .kind = SKUA_FILE_REGULAR }, &item->listing));
    listing_shelf_put(shelf, &item);
    assert_null(item);
}

static shelved *take(listing_shelf *shelf, unsigned number)
{
    char text[32];
    return listing_shelf_take(shelf, path_of(number, text), LISTING_BY_NAME, false);
}

static bool has(listing_shelf *shelf, unsigned number)
{
    shelved *item = take(shelf, number);
    if (item) listing_shelf_give(shelf, item);
    return item != NULL;
}

// Of one listing as they are put here.
static size_t octets_of_one(void)
{
    listing_shelf shelf = { .octets_max = SIZE_MAX };
    put(&shelf, 1);
    size_t octets = shelf.octets;
    listing_shelf_deinit(&shelf);
    return octets;
}

static void test_shelf_finds_by_path_and_order(void **state)
{
    (void)state;
    listing_shelf shelf = { .octets_max = SIZE_MAX };
    put(&shelf, 1);
    put(&shelf, 2);
    assert_true(has(&shelf, 1));
    assert_true(has(&shelf, 2));
    assert_false(has(&shelf, 3));
    assert_null(listing_shelf_take(&shelf, SKUA_SLICE("/1/"), LISTING_BY_NAME, true));
    assert_null(listing_shelf_take(&shelf, SKUA_SLICE("/1/"), LISTING_BY_SIZE, false));
    listing_shelf_deinit(&shelf);
}

static void test_shelf_drops_the_least_recently_used(void **state)
{
    (void)state;
    listing_shelf shelf = { .octets_max = 3 * octets_of_one() };
    for (unsigned i = 1; i <= 3; i++)
        put(&shelf, i);
    assert_true(has(&shelf, 1));
    put(&shelf, 4);
    assert_int_equal(shelf.octets, shelf.octets_max);
    assert_true(has(&shelf, 1));
    assert_false(has(&shelf, 2));
    assert_true(has(&shelf, 3));
    listing_shelf_deinit(&shelf);
    assert_int_equal(shelf.octets, 0);
}

static void test_shelf_keeps_what_is_read(void **state)
{
    (void)state;
    listing_shelf shelf = { .octets_max = octets_of_one() };
    put(&shelf, 1);
    shelved *read = take(&shelf, 1);
    put(&shelf, 2); // no room: it goes at once
    assert_false(has(&shelf, 2));
    assert_int_equal(read->listing.count, 1);
    listing_shelf_give(&shelf, read);
    assert_true(has(&shelf, 1));
    put(&shelf, 2);
    assert_false(has(&shelf, 1));
    assert_true(has(&shelf, 2));
    listing_shelf_deinit(&shelf);
}

// Also when it has gone from the shelf before the older one.
static void test_shelf_gives_the_latest_reading(void **state)
{
    (void)state;
    listing_shelf shelf = { .octets_max = 2 * octets_of_one() };
    put(&shelf, 1);
    shelved *former = take(&shelf, 1);
    put(&shelf, 1);
    shelved *latest = take(&shelf, 1);
    assert_ptr_not_equal(latest, former);
    listing_shelf_give(&shelf, latest);
    put(&shelf, 2);
    assert_false(has(&shelf, 1));
    listing_shelf_give(&shelf, former);
    listing_shelf_deinit(&shelf);
}

static void test_shelf_is_bounded_in_number(void **state)
{
    (void)state;
    listing_shelf shelf = { .octets_max = SIZE_MAX };
    for (unsigned i = 0; i <= LISTING_SHELF_COUNT_MAX; i++) {
        put(&shelf, i);
        assert_true(has(&shelf, 0) == (i < LISTING_SHELF_COUNT_MAX));
        if (i < LISTING_SHELF_COUNT_MAX) assert_int_equal(shelf.count, i + 1);
        for (unsigned j = 1; j <= i && i < LISTING_SHELF_COUNT_MAX; j++)
            (void)has(&shelf, j); // number 0 stays the least recently used
    }
    assert_int_equal(shelf.count, LISTING_SHELF_COUNT_MAX);
    listing_shelf_deinit(&shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shelf_finds_by_path_and_order),
        cmocka_unit_test(test_shelf_drops_the_least_recently_used),
        cmocka_unit_test(test_shelf_keeps_what_is_read),
        cmocka_unit_test(test_shelf_gives_the_latest_reading),
        cmocka_unit_test(test_shelf_is_bounded_in_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
