// SPDX-License-Identifier: MIT
//
// Accept-Encoding: q-values by the letter, and which coding is chosen.

#include "http/coding.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static const content_coding order[] = { CODING_BROTLI, CODING_ZSTD, CODING_GZIP };

typedef struct coding_case {
    const char *line; // NULL: there is none
    content_coding all, gzip_alone;
} coding_case;

static const coding_case cases[] = {
    { NULL, CODING_IDENTITY, CODING_IDENTITY },
    { "", CODING_IDENTITY, CODING_IDENTITY },
    { ",, ,", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip", CODING_GZIP, CODING_GZIP },
    { "GZip", CODING_GZIP, CODING_GZIP },
    { "x-gzip", CODING_GZIP, CODING_GZIP },
    { "br", CODING_BROTLI, CODING_IDENTITY },
    { "zstd", CODING_ZSTD, CODING_IDENTITY },
    { "deflate, compress", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip, deflate, br, zstd", CODING_BROTLI, CODING_GZIP },
    { "gzip,deflate,zstd", CODING_ZSTD, CODING_GZIP },
    { "br;q=0.5, gzip", CODING_GZIP, CODING_GZIP },
    { "br;q=0.5, gzip;q=0.501", CODING_GZIP, CODING_GZIP },
    { "br;q=0, zstd;q=0.0, gzip;q=0.001", CODING_GZIP, CODING_GZIP },
    { "gzip;q=0", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=0.000", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip ; Q=1.000", CODING_GZIP, CODING_GZIP },
    { "gzip\t;\tq=1.", CODING_GZIP, CODING_GZIP },
    // identity by its own name, and what has no more weight than it
    { "identity", CODING_IDENTITY, CODING_IDENTITY },
    { "identity, gzip", CODING_GZIP, CODING_GZIP },
    { "identity, gzip;q=0.9", CODING_IDENTITY, CODING_IDENTITY },
    { "identity;q=0.5, gzip;q=0.5", CODING_GZIP, CODING_GZIP },
    { "identity;q=0.5, gzip;q=0.4, zstd;q=0.6", CODING_ZSTD, CODING_IDENTITY },
    { "identity;q=0", CODING_COUNT, CODING_COUNT },
    { "identity;q=0, br;q=0.1", CODING_BROTLI, CODING_COUNT },
    { "gzip;q=0, identity;q=0", CODING_COUNT, CODING_COUNT },
    { "identity;q=0, *", CODING_BROTLI, CODING_GZIP },
    { "*;q=0, identity;q=0.001", CODING_IDENTITY, CODING_IDENTITY },
    { "identity;q=0, gzip;q=0.001", CODING_GZIP, CODING_GZIP },
    // "*" is every coding that is not named
    { "*", CODING_BROTLI, CODING_GZIP },
    { "*;q=0", CODING_COUNT, CODING_COUNT },
    { "*;q=0, gzip;q=0.1", CODING_GZIP, CODING_GZIP },
    { "gzip, *;q=0", CODING_GZIP, CODING_GZIP },
    { "br;q=0, *", CODING_ZSTD, CODING_GZIP },
    { "gzip;q=0.5, *", CODING_BROTLI, CODING_IDENTITY },
    { "gzip, *;q=0.5", CODING_GZIP, CODING_GZIP },
    { "identity;q=0.1, *;q=0.2", CODING_BROTLI, CODING_GZIP },
    // Named twice: the lesser weight.
    { "gzip;q=0, gzip", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip, x-gzip;q=0", CODING_IDENTITY, CODING_IDENTITY },
    // A member that breaks the grammar is passed over, the others count.
    { "gzip;q=2", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=1.001", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=0.1234", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=.5", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=-0", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;q=0.5;q=1", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip;level=9", CODING_IDENTITY, CODING_IDENTITY },
    { "gzip br", CODING_IDENTITY, CODING_IDENTITY },
    { "g\xc3\xa9zip, zstd", CODING_ZSTD, CODING_IDENTITY },
    { "br;q=x, gzip", CODING_GZIP, CODING_GZIP },
    { "gzipp, brr, b, z", CODING_IDENTITY, CODING_IDENTITY },
};

static void test_chosen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        slice line = cases[i].line ? slice_of(cases[i].line) : (slice){ 0 };
        coding_wishes wishes = coding_read(&line, cases[i].line != NULL);
        if (coding_choose(&wishes, order, 3) != cases[i].all ||
            coding_choose(&wishes, &order[2], 1) != cases[i].gzip_alone)
            fail_msg("case %zu, \"%s\"", i, cases[i].line ? cases[i].line : "");
        content_coding none = wishes.quality[CODING_IDENTITY] ? CODING_IDENTITY : CODING_COUNT;
        assert_int_equal(coding_choose(&wishes, order, 0), none);
    }
}

// Two lines are one list (RFC 9110 §5.3).
static void test_lines(void **state)
{
    (void)state;
    slice lines[] = { SKUA_SLICE("gzip, *;q=0"), SKUA_SLICE("zstd;q=0.7") };
    coding_wishes wishes = coding_read(lines, 2);
    assert_int_equal(wishes.quality[CODING_GZIP], 1000);
    assert_int_equal(wishes.quality[CODING_ZSTD], 700);
    assert_int_equal(wishes.quality[CODING_BROTLI], 0);
    assert_int_equal(wishes.quality[CODING_IDENTITY], 0);
}

static void test_names(void **state)
{
    (void)state;
    for (unsigned i = CODING_GZIP; i < CODING_COUNT; i++) {
        slice name = coding_name((content_coding)i);
        coding_wishes wishes = coding_read(&name, 1);
        assert_int_equal(coding_choose(&wishes, order, 3), i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
