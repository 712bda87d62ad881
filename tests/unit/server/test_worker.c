// SPDX-License-Identifier: MIT
//
// Worker: its line of the date, whichever way the clock goes.

#include "server/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static const int64_t second_ns = 1000000000;

static void check_date(skua_worker *w, int64_t unix_ns, const char *date)
{
    w->loop.unix_ns = unix_ns;
    char expected[64];
    int len = snprintf(expected, sizeof expected, "Date: %s\r\n", date);
    assert_int_equal(len, WORKER_DATE_OCTETS);
    assert_memory_equal(worker_date(w), expected, WORKER_DATE_OCTETS);
}

static void test_date_follows_the_clock(void **state)
{
    (void)state;
    skua_worker *w = calloc(1, sizeof *w);
    assert_non_null(w);
    check_date(w, 784111777 * second_ns, "Sun, 06 Nov 1994 08:49:37 GMT");
    check_date(w, 784111777 * second_ns + second_ns - 1, "Sun, 06 Nov 1994 08:49:37 GMT");
    check_date(w, 784111778 * second_ns, "Sun, 06 Nov 1994 08:49:38 GMT");
    check_date(w, 784111778 * second_ns - 1, "Sun, 06 Nov 1994 08:49:37 GMT");
    check_date(w, 784108177 * second_ns, "Sun, 06 Nov 1994 07:49:37 GMT"); // somebody set it back
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date_follows_the_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
