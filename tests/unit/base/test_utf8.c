// SPDX-License-Identifier: MIT
//
// UTF-8: the edges of every row of Unicode's table 3-7 of well-formed sequences, and what lies just
// outside of them.

#include "base/utf8.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct {
    const char *text;
    size_t len; // 0: no character begins here
    uint32_t point;
} cases[] = {
    { "a", 1, 'a' },
    { "\x7f", 1, 0x7f },
    { "\xc2\x80", 2, 0x80 },
    { "\xdf\xbf", 2, 0x7ff },
    { "\xe0\xa0\x80", 3, 0x800 },
    { "\xed\x9f\xbf", 3, 0xd7ff },
    { "\xee\x80\x80", 3, 0xe000 },
    { "\xef\xbf\xbf", 3, 0xffff },
    { "\xf0\x90\x80\x80", 4, 0x10000 },
    { "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
    { "\xc3\xa9tude", 2, 0xe9 },
    { "\x80", 0, 0 },
    { "\xbf", 0, 0 },
    { "\xc0\x80", 0, 0 }, // longer than it need be
    { "\xc1\xbf", 0, 0 },
    { "\xe0\x9f\xbf", 0, 0 },
    { "\xf0\x8f\xbf\xbf", 0, 0 },
    { "\xed\xa0\x80", 0, 0 }, // surrogates
    { "\xed\xbf\xbf", 0, 0 },
    { "\xf4\x90\x80\x80", 0, 0 }, // past the last code point
    { "\xf5\x80\x80\x80", 0, 0 },
    { "\xff", 0, 0 },
    { "\xc3", 0, 0 }, // cut
    { "\xe2\x82", 0, 0 },
    { "\xf0\x9f\x98", 0, 0 },
    { "\xc3(", 0, 0 },
    { "\xe2\x82(", 0, 0 },
    { "\xe2(\xac", 0, 0 },
};

static void test_utf8_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t len = strlen(cases[i].text);
        char *text = GUARDED_TEXT(cases[i].text);
        uint32_t point = 77;
        assert_int_equal(utf8_read(slice_make(text, len), &point), cases[i].len);
        assert_int_equal(point, cases[i].len ? cases[i].point : 77);
        guarded_free(text, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_utf8_characters) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
