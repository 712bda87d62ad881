// SPDX-License-Identifier: MIT
//
// Preconditions in their order, and ranges at their edges.

#include "http/preconditions.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define BEFORE "Sun, 06 Nov 1994 08:49:36 GMT"
#define SAME "Sun, 06 Nov 1994 08:49:37 GMT"
#define AFTER "Sun, 06 Nov 1994 08:49:38 GMT"

enum { MODIFIED = 784111777, NOW = MODIFIED + 100 };

static slice field(const char *value)
{
    return value ? slice_make(GUARDED_TEXT(value), strlen(value)) : slice_make(NULL, 0);
}

static void field_free(slice value)
{
    // Pointers to guarded memory are the tests' own; slices only lend them as const.
    if (value.ptr) guarded_free((char *)(uintptr_t)value.ptr, value.len);
}

static preconditions preconditions_of(const char *match, const char *none_match,
                                      const char *unmodified_since, const char *modified_since)
{
    return (preconditions){ .if_match = field(match),
                            .if_none_match = field(none_match),
                            .if_modified_since = field(modified_since),
                            .if_unmodified_since = field(unmodified_since) };
}

static void preconditions_free(const preconditions *conditions)
{
    field_free(conditions->if_match);
    field_free(conditions->if_none_match);
    field_free(conditions->if_modified_since);
    field_free(conditions->if_unmodified_since);
}

enum {
    PROCEED = PRECONDITION_PROCEED,
    FAILED = PRECONDITION_FAILED,
    NOT_MODIFIED = PRECONDITION_NOT_MODIFIED
};

static const struct {
    const char *match, *none_match, *unmodified_since, *modified_since;
    int reading, writing; // outcomes
} orders[] = {
    { NULL, NULL, NULL, NULL, PROCEED, PROCEED },

    { "\"a\"", NULL, NULL, NULL, PROCEED, PROCEED },
    { "\"b\"", NULL, NULL, NULL, FAILED, FAILED },
    { "*", NULL, NULL, NULL, PROCEED, PROCEED },
    { " * ", NULL, NULL, NULL, PROCEED, PROCEED },
    { "", NULL, NULL, NULL, FAILED, FAILED },
    { "**", NULL, NULL, NULL, FAILED, FAILED },
    { "*, \"a\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\", *", NULL, NULL, NULL, FAILED, FAILED },
    { "\"b\", \"a\"", NULL, NULL, NULL, PROCEED, PROCEED },
    { ",, \"b\" ,\t,\"a\",", NULL, NULL, NULL, PROCEED, PROCEED },
    { "W/\"a\"", NULL, NULL, NULL, FAILED, FAILED },
    { "w/\"a\"", NULL, NULL, NULL, FAILED, FAILED },
    { "a", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\" \"b\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\"\"b\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\", b", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\", \"b", NULL, NULL, NULL, FAILED, FAILED },
    { "\"a\", \"b b\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"b,\", \"a\"", NULL, NULL, NULL, PROCEED, PROCEED },
    { "\"x, \"a\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"\xc3\xa9\", \"a\"", NULL, NULL, NULL, PROCEED, PROCEED },
    { "\"\x7f\", \"a\"", NULL, NULL, NULL, FAILED, FAILED },
    { "\"\\\", \"a\"", NULL, NULL, NULL, PROCEED, PROCEED }, // no escapes in entity tags

    { NULL, NULL, BEFORE, NULL, FAILED, FAILED },
    { NULL, NULL, SAME, NULL, PROCEED, PROCEED },
    { NULL, NULL, AFTER, NULL, PROCEED, PROCEED },
    { NULL, NULL, "yesterday", NULL, PROCEED, PROCEED },
    { NULL, NULL, BEFORE ", " BEFORE, NULL, PROCEED, PROCEED },
    { "\"a\"", NULL, BEFORE, NULL, PROCEED, PROCEED }, // If-Match goes first
    { "\"b\"", NULL, AFTER, NULL, FAILED, FAILED },

    { NULL, "\"a\"", NULL, NULL, NOT_MODIFIED, FAILED },
    { NULL, "W/\"a\"", NULL, NULL, NOT_MODIFIED, FAILED },
    { NULL, "\"b\"", NULL, NULL, PROCEED, PROCEED },
    { NULL, "\"b\", W/\"c\",W/\"a\"", NULL, NULL, NOT_MODIFIED, FAILED },
    { NULL, "*", NULL, NULL, NOT_MODIFIED, FAILED },
    { NULL, "\"a\", oops", NULL, NULL, PROCEED, PROCEED },
    { NULL, "", NULL, NULL, PROCEED, PROCEED },
    { NULL, "\"a\"", NULL, BEFORE, NOT_MODIFIED, FAILED }, // If-None-Match goes first
    { NULL, "\"b\"", NULL, AFTER, PROCEED, PROCEED },
    { NULL, "oops", NULL, AFTER, PROCEED, PROCEED },

    { NULL, NULL, NULL, BEFORE, PROCEED, PROCEED },
    { NULL, NULL, NULL, SAME, NOT_MODIFIED, PROCEED },
    { NULL, NULL, NULL, AFTER, NOT_MODIFIED, PROCEED },
    { NULL, NULL, NULL, "Sunday, 06-Nov-94 08:49:37 GMT", NOT_MODIFIED, PROCEED },
    { NULL, NULL, NULL, "Sun Nov  6 08:49:37 1994", NOT_MODIFIED, PROCEED },
    { NULL, NULL, NULL, "", PROCEED, PROCEED },
    { NULL, NULL, NULL, SAME "; length=5", PROCEED, PROCEED },

    { "\"a\"", "\"a\"", NULL, NULL, NOT_MODIFIED, FAILED },
    { "\"b\"", "\"a\"", NULL, NULL, FAILED, FAILED },
    { NULL, "\"a\"", BEFORE, NULL, FAILED, FAILED },
    { NULL, NULL, BEFORE, AFTER, FAILED, FAILED },
    { NULL, NULL, AFTER, AFTER, NOT_MODIFIED, PROCEED },
};

static void test_condition_order(void **state)
{
    (void)state;
    representation selected = { slice_of("\"a\""), MODIFIED, NOW };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        preconditions conditions =
            preconditions_of(orders[i].match, orders[i].none_match, orders[i].unmodified_since,
                             orders[i].modified_since);
        int reading = (int)precondition_evaluate(&conditions, &selected, true);
        int writing = (int)precondition_evaluate(&conditions, &selected, false);
        bool right = reading == orders[i].reading && writing == orders[i].writing;
        if (!right) print_error("row %zu: %d, %d\n", i, reading, writing);
        assert_true(right);
        preconditions_free(&conditions);
    }
}

// Unknown parts of a representation cannot match, and its dates are not compared.
static void test_condition_of_little_known(void **state)
{
    (void)state;
    static const struct {
        const char *etag, *match, *none_match, *unmodified_since, *modified_since;
        int reading;
    } rows[] = {
        { NULL, "\"a\"", NULL, NULL, NULL, FAILED },
        { NULL, "*", NULL, NULL, NULL, PROCEED },
        { NULL, NULL, "\"a\"", NULL, NULL, PROCEED },
        { NULL, NULL, "*", NULL, NULL, NOT_MODIFIED },
        { NULL, NULL, NULL, BEFORE, NULL, PROCEED },
        { NULL, NULL, NULL, NULL, AFTER, PROCEED },
        { "W/\"a\"", "\"a\"", NULL, NULL, NULL, FAILED },
        { "W/\"a\"", "W/\"a\"", NULL, NULL, NULL, FAILED },
        { "W/\"a\"", NULL, "\"a\"", NULL, NULL, NOT_MODIFIED },
        { "W/\"a\"", NULL, "W/\"a\"", NULL, NULL, NOT_MODIFIED },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        slice etag = field(rows[i].etag);
        representation selected = { etag, -1, NOW };
        preconditions conditions = preconditions_of(
            rows[i].match, rows[i].none_match, rows[i].unmodified_since, rows[i].modified_since);
        assert_int_equal(precondition_evaluate(&conditions, &selected, true), rows[i].reading);
        preconditions_free(&conditions);
        field_free(etag);
    }
}

static void test_condition_if_range(void **state)
{
    (void)state;
    static const struct {
        const char *if_range, *etag;
        int64_t modified;
        bool applies;
    } rows[] = {
        { NULL, "\"a\"", MODIFIED, true },
        { "\"a\"", "\"a\"", MODIFIED, true },
        { " \"a\" ", "\"a\"", MODIFIED, true },
        { "\"b\"", "\"a\"", MODIFIED, false },
        { "W/\"a\"", "\"a\"", MODIFIED, false },
        { "\"a\"", "W/\"a\"", MODIFIED, false },
        { "W/\"a\"", "W/\"a\"", MODIFIED, false },
        { "\"a\", \"a\"", "\"a\"", MODIFIED, false },
        { "*", "\"a\"", MODIFIED, false },
        { "", "\"a\"", MODIFIED, false },
        { "\"a\"", NULL, MODIFIED, false },
        { SAME, "\"a\"", MODIFIED, true },
        { SAME, NULL, MODIFIED, true },
        { BEFORE, "\"a\"", MODIFIED, false },
        { AFTER, "\"a\"", MODIFIED, false },
        { SAME, "\"a\"", -1, false },
        { "Sun, 06 Nov 1994 08:51:17 GMT", NULL, NOW, false }, // modified within this second
        { "Sun, 06 Nov 1994 08:51:16 GMT", NULL, NOW - 1, true },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        preconditions conditions = { .if_range = field(rows[i].if_range) };
        slice etag = field(rows[i].etag);
        representation selected = { etag, rows[i].modified, NOW };
        bool applies = precondition_range_applies(&conditions, &selected);
        if (applies != rows[i].applies) print_error("row %zu\n", i);
        assert_int_equal(applies, rows[i].applies);
        field_free(conditions.if_range);
        field_free(etag);
    }
}

#define WHOLE "whole"
#define NONE "416"

// Ranges are written as "first+length …".
static const struct {
    const char *value;
    uint64_t size;
    const char *ranges;
} reads[] = {
    { "bytes=0-0", 10, "0+1 " },
    { "bytes=0-9", 10, "0+10 " },
    { "bytes=0-", 10, "0+10 " },
    { "bytes=9-", 10, "9+1 " },
    { "bytes=10-", 10, NONE },
    { "bytes=9-9", 10, "9+1 " },
    { "bytes=5-99", 10, "5+5 " },
    { "bytes=10-99", 10, NONE },
    { "bytes=-1", 10, "9+1 " },
    { "bytes=-10", 10, "0+10 " },
    { "bytes=-11", 10, "0+10 " },
    { "bytes=-0", 10, NONE },
    { "bytes=-000", 10, NONE },
    { "bytes=-0,0-0", 10, "0+1 " },
    { "bytes=00-01", 10, "0+2 " },
    { "Bytes=0-0", 10, "0+1 " },
    { " bytes=0-0 ", 10, "0+1 " },

    { "bytes=0-0", 0, NONE },
    { "bytes=0-", 0, NONE },
    { "bytes=-0", 0, NONE },
    { "bytes=-1", 0, WHOLE },
    { "bytes=0-0,-1", 0, WHOLE },

    { "bytes=0-18446744073709551615", 10, "0+10 " },
    { "bytes=0-18446744073709551616", 10, "0+10 " },
    { "bytes=18446744073709551616-", 10, NONE },
    { "bytes=18446744073709551615-", UINT64_MAX, NONE },
    { "bytes=18446744073709551614-", UINT64_MAX, "18446744073709551614+1 " },
    { "bytes=0-", UINT64_MAX, "0+18446744073709551615 " },
    { "bytes=-99999999999999999999999999", UINT64_MAX, "0+18446744073709551615 " },
    { "bytes=-1,18446744073709551613-18446744073709551613", UINT64_MAX,
      "18446744073709551614+1 18446744073709551613+1 " },

    { "bytes=0-0,2-2", 10, "0+1 2+1 " },
    { "bytes=2-2,0-0", 10, "2+1 0+1 " },
    { "bytes= 0-0 , 2-2 ", 10, "0+1 2+1 " },
    { "bytes=0-0\t,\t2-2", 10, "0+1 2+1 " },
    { "bytes=,,0-0,, ,2-2,", 10, "0+1 2+1 " },
    { "bytes=0-4,5-9", 10, "0+5 5+5 " },
    { "bytes=0-4,4-9", 10, WHOLE },
    { "bytes=4-9,0-4", 10, WHOLE },
    { "bytes=0-9,3-4", 10, WHOLE },
    { "bytes=3-4,0-9", 10, WHOLE },
    { "bytes=0-0,0-0", 10, "0+1 0+1 " },
    { "bytes=0-4,2-6", 10, "0+5 2+5 " },
    { "bytes=0-4,2-7", 10, WHOLE },
    { "bytes=2-3,0-7", 10, "2+2 0+8 " },
    { "bytes=2-3,0-8", 10, WHOLE },
    { "bytes=-1,0-8", 10, "9+1 0+9 " },
    { "bytes=0-1,0-1,0-1,0-3", 10, "0+2 0+2 0+2 0+4 " },
    { "bytes=0-1,0-1,0-2,0-3", 10, WHOLE },
    { "bytes=0-,0-0", UINT64_MAX, WHOLE },
    { "bytes=0-9223372036854775807,1-9223372036854775807", UINT64_MAX,
      "0+9223372036854775808 1+9223372036854775807 " },
    { "bytes=0-9223372036854775807,0-9223372036854775807", UINT64_MAX, WHOLE },
    { "bytes=0-,-1", 10, WHOLE },
    { "bytes=0-0,99-", 10, "0+1 " },
    { "bytes=98-,99-", 10, NONE },
    { "bytes=0-0,2-2,4-4,6-6", 10, "0+1 2+1 4+1 6+1 " },
    { "bytes=0-0,2-2,4-4,6-6,8-8", 10, WHOLE }, // ranges_max is 4 here
    { "bytes=20-,21-,22-,23-,24-", 10, WHOLE },
    { "bytes=,,,,,,,,,0-0", 10, "0+1 " },

    { "", 10, WHOLE },
    { "bytes", 10, WHOLE },
    { "bytes=", 10, WHOLE },
    { "bytes=,", 10, WHOLE },
    { "bytes= ", 10, WHOLE },
    { "bytes=-", 10, WHOLE },
    { "bytes=--1", 10, WHOLE },
    { "bytes=0", 10, WHOLE },
    { "bytes=1-0", 10, WHOLE },
    { "bytes=0-0,1-0", 10, WHOLE },
    { "bytes=99-98", 10, WHOLE },
    { "bytes=a-b", 10, WHOLE },
    { "bytes=0-b", 10, WHOLE },
    { "bytes=0x1-2", 10, WHOLE },
    { "bytes=+1-2", 10, WHOLE },
    { "bytes=0 -1", 10, WHOLE },
    { "bytes=0- 1", 10, WHOLE },
    { "bytes=0-1 2-3", 10, WHOLE },
    { "bytes=0-1-2", 10, WHOLE },
    { "bytes=0-1;2-3", 10, WHOLE },
    { "bytes 0-1", 10, WHOLE },
    { "bytes =0-1", 10, WHOLE },
    { "bytes:0-1", 10, WHOLE },
    { "octets=0-1", 10, WHOLE },
    { "byte=0-1", 10, WHOLE },
    { "bytess=0-1", 10, WHOLE },
    { "items=0-1", 10, WHOLE },
    { "0-1", 10, WHOLE },
};

static void ranges_text(char *out, size_t room, range_outcome outcome, const range *ranges,
                        unsigned count)
{
    if (outcome != RANGE_PARTIAL) {
        (void)snprintf(out, room, "%s", outcome == RANGE_WHOLE ? WHOLE : NONE);
        return;
    }
    size_t len = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        len += (size_t)snprintf(out + len, room - len, "%llu+%llu ",
                                (unsigned long long)ranges[i].first,
                                (unsigned long long)ranges[i].length);
    }
}

static void test_range_reads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        range ranges[4];
        unsigned count = 77;
        slice value = field(reads[i].value);
        range_outcome outcome = range_read(value, reads[i].size, 4, ranges, &count);
        char text[512];
        ranges_text(text, sizeof text, outcome, ranges, count);
        if (strcmp(text, reads[i].ranges) != 0) print_error("%s: %s\n", reads[i].value, text);
        assert_string_equal(text, reads[i].ranges);
        if (outcome != RANGE_PARTIAL) assert_int_equal(count, 77);
        field_free(value);
    }
}

static void test_range_max_is_the_callers(void **state)
{
    (void)state;
    range ranges[RANGES_MAX];
    unsigned count = 0;
    char value[256] = "bytes=";
    for (unsigned n = 1; n <= RANGES_MAX + 1; n++) {
        size_t len = strlen(value);
        (void)snprintf(value + len, sizeof value - len, "%s%u-%u", n > 1 ? "," : "", n * 2, n * 2);
        range_outcome outcome = range_read(slice_of(value), 1000, RANGES_MAX, ranges, &count);
        assert_int_equal(outcome, n <= RANGES_MAX ? RANGE_PARTIAL : RANGE_WHOLE);
        if (outcome == RANGE_PARTIAL) assert_int_equal(count, n);
    }
    assert_int_equal(range_read(slice_of("bytes=0-0"), 10, 0, ranges, &count), RANGE_WHOLE);
    assert_int_equal(range_read(slice_of("bytes=0-0,2-2"), 10, 1, ranges, &count), RANGE_WHOLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_condition_order),
        cmocka_unit_test(test_condition_of_little_known),
        cmocka_unit_test(test_condition_if_range),
        cmocka_unit_test(test_range_reads),
        cmocka_unit_test(test_range_max_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
