// SPDX-License-Identifier: MIT
//
// Dates, against libc's calendar and the three forms of RFC 9110 §5.6.7.

#include "http/date.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <cmocka.h>

static const int64_t NOW = 1767225600; // 1 January 2026
static const int64_t LAST = 253402300799;
static const int64_t EXAMPLE = 784111777; // Sun, 06 Nov 1994 08:49:37 GMT

static void expect_written(int64_t seconds, const char *expected)
{
    char out[DATE_OCTETS + 1];
    out[DATE_OCTETS] = '!';
    date_write(out, seconds);
    assert_int_equal(out[DATE_OCTETS], '!');
    assert_memory_equal(out, expected, DATE_OCTETS);
}

static void test_date_write(void **state)
{
    (void)state;
    expect_written(0, "Thu, 01 Jan 1970 00:00:00 GMT");
    expect_written(EXAMPLE, "Sun, 06 Nov 1994 08:49:37 GMT");
    expect_written(951782400, "Tue, 29 Feb 2000 00:00:00 GMT");
    expect_written(4107542400, "Mon, 01 Mar 2100 00:00:00 GMT");
    expect_written(LAST, "Fri, 31 Dec 9999 23:59:59 GMT");
    expect_written(LAST + 1, "Fri, 31 Dec 9999 23:59:59 GMT");
    expect_written(INT64_MAX, "Fri, 31 Dec 9999 23:59:59 GMT");
    expect_written(-1, "Thu, 01 Jan 1970 00:00:00 GMT");
    expect_written(INT64_MIN, "Thu, 01 Jan 1970 00:00:00 GMT");
}

// Every day up to 2400 and a step of primes beyond it: written as strftime does, and read back.
static void test_date_goes_round(void **state)
{
    (void)state;
    for (int64_t seconds = 0; seconds <= LAST;) {
        char expected[64], out[DATE_OCTETS];
        time_t t = (time_t)seconds;
        struct tm tm;
        assert_non_null(gmtime_r(&t, &tm));
        assert_int_equal(strftime(expected, sizeof expected, "%a, %d %b %Y %H:%M:%S GMT", &tm), 29);
        date_write(out, seconds);
        assert_memory_equal(out, expected, DATE_OCTETS);
        int64_t back = -1;
        assert_true(date_read(slice_make(out, DATE_OCTETS), NOW, &back));
        assert_int_equal(back, seconds);
        seconds += seconds < 13569465600 ? 86399 : 86399 * 37;
    }
}

static const struct {
    const char *text;
    int64_t seconds;
} good[] = {
    { "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
    { "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
    { "Sun Nov  6 08:49:37 1994", 784111777 },
    { "Sun Nov 16 08:49:37 1994", 784111777 + 10 * 86400 },
    { "Sun Nov 06 08:49:37 1994", 784111777 },
    { "Mon, 06 Nov 1994 08:49:37 GMT", 784111777 }, // the wrong weekday
    { "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
    { "Sat, 01 Jan 0000 00:00:00 GMT", -62167219200 },
    { "Fri, 31 Dec 9999 23:59:59 GMT", 253402300799 },
    { "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 }, // a leap second
    { "Tue, 29 Feb 2000 00:00:00 GMT", 951782400 },
    { "Wednesday, 31-Dec-75 23:59:59 GMT", 3345062399 }, // 2075: less than 50 years ahead
    { "Thursday, 01-Jan-76 00:00:00 GMT", 3345062400 },  // 2076: 50 years, but not more
    { "Thursday, 01-Jan-76 00:00:01 GMT", 189302401 },   // 1976
    { "Thursday, 01-Jan-70 00:00:00 GMT", 3155760000 },  // 2070
    { "Saturday, 01-Jan-00 00:00:00 GMT", 946684800 },   // 2000
    { "Tuesday, 29-Feb-00 00:00:00 GMT", 951782400 },
};

static const char *const bad[] = {
    "",
    " ",
    "0",
    "784111777",
    "Sun",
    "Sun,",
    "Sun, 06 Nov 1994 08:49:37",
    "Sun, 06 Nov 1994 08:49:37 ",
    "Sun, 06 Nov 1994 08:49:37 GM",
    "Sun, 06 Nov 1994 08:49:37 GMT ",
    " Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 GMT; length=5",
    "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 gmt",
    "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000",
    "sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 nov 1994 08:49:37 GMT",
    "Xxx, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Xxx 1994 08:49:37 GMT",
    "Sun 06 Nov 1994 08:49:37 GMT",
    "Sun,06 Nov 1994 08:49:37 GMT",
    "Sun,  6 Nov 1994 08:49:37 GMT",
    "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 19940 08:49:37 GMT",
    "Sun, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37",
    "Sun, 06-Nov-94 08:49:37 GMT",
    "Sunday, 29-Feb-26 00:00:00 GMT",
    "Sunday, 00-Jan-26 00:00:00 GMT",
    "Sun, 00 Nov 1994 08:49:37 GMT",
    "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 32 Jan 1994 08:49:37 GMT",
    "Sun, 29 Feb 1999 00:00:00 GMT",
    "Sun, 29 Feb 2100 00:00:00 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT",
    "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:00:61 GMT",
    "Sun, 06 Nov 1994 8:49:37 GMT",
    "Sun, 06 Nov 1994 +8:49:37 GMT",
    "Sun, 06 Nov 1994 08-49-37 GMT",
    "Sun, 06 Nov 1994  08:49:37 GMT",
    "Sun Nov 6 08:49:37 1994",
    "Sun Nov   6 08:49:37 1994",
    "Sun Nov  6 08:49:37 1994 GMT",
    "Sun Nov  6 08:49:37 94",
    "Sun, Nov  6 08:49:37 1994",
    "Sun Nov  0 08:49:37 1994",
};

static bool read_guarded(slice text, int64_t *seconds)
{
    char *copy = guarded_copy(text.ptr, text.len);
    bool read = date_read(slice_make(copy, text.len), NOW, seconds);
    guarded_free(copy, text.len);
    return read;
}

static void test_date_forms_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        slice text = slice_of(good[i].text);
        int64_t seconds = 5;
        assert_true(read_guarded(text, &seconds));
        if (seconds != good[i].seconds) print_error("%s: %lld\n", good[i].text, (long long)seconds);
        assert_int_equal(seconds, good[i].seconds);
        for (size_t len = 0; len < text.len; len++) {
            assert_false(read_guarded(slice_make(text.ptr, len), &seconds));
        }
    }
}

static void test_date_other_forms_are_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t seconds = 5;
        bool read = read_guarded(slice_of(bad[i]), &seconds);
        if (read) print_error("%s\n", bad[i]);
        assert_false(read);
        assert_int_equal(seconds, 5);
    }
}

static void expect_century(int64_t now, const char *text, const char *same)
{
    int64_t a = 1, b = 2;
    assert_true(date_read(slice_of(text), now, &a));
    assert_true(date_read(slice_of(same), now, &b));
    assert_int_equal(a, b);
}

static void test_date_century_follows_now(void **state)
{
    (void)state;
    static const int64_t now_1999 = 930000000, now_2080 = 3471292800;
    expect_century(now_1999, "Monday, 01-Jan-05 00:00:00 GMT", "Mon, 01 Jan 2005 00:00:00 GMT");
    expect_century(now_1999, "Monday, 01-Jan-98 00:00:00 GMT", "Mon, 01 Jan 1998 00:00:00 GMT");
    expect_century(now_2080, "Monday, 01-Jan-10 00:00:00 GMT", "Mon, 01 Jan 2110 00:00:00 GMT");
    expect_century(now_2080, "Monday, 01-Jan-79 00:00:00 GMT", "Mon, 01 Jan 2079 00:00:00 GMT");
    expect_century(now_2080, "Monday, 01-Jan-31 00:00:00 GMT", "Mon, 01 Jan 2031 00:00:00 GMT");
    expect_century(INT64_MIN, "Monday, 01-Jan-99 00:00:00 GMT", "Mon, 01 Jan 1999 00:00:00 GMT");
    int64_t seconds;
    assert_true(date_read(slice_of("Monday, 01-Jan-99 00:00:00 GMT"), INT64_MAX, &seconds));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date_write),
        cmocka_unit_test(test_date_goes_round),
        cmocka_unit_test(test_date_forms_are_read),
        cmocka_unit_test(test_date_other_forms_are_not),
        cmocka_unit_test(test_date_century_follows_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
