// SPDX-License-Identifier: MIT
//
// Short texts by words: the same as octet by octet, for every length, next to a forbidden page.

#include "http/octets.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { LENGTH_MAX = 40 };

static void fill(char *text, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + (i * 7 + seed) % 26);
}

static void test_octets_each_octet_at_each_place(void **state)
{
    (void)state;
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        char plain[LENGTH_MAX], out[LENGTH_MAX + 1];
        fill(plain, LENGTH_MAX, 1);
        char *text = guarded_copy(plain, len);
        slice s = slice_make(text, len);
        assert_false(octets_have_upper(s));
        for (size_t at = 0; at < len; at++) {
            for (unsigned c = 0; c < 256; c++) {
                text[at] = (char)c;
                bool is_upper = c >= 'A' && c <= 'Z';
                assert_int_equal(octets_have_upper(s), is_upper);
                assert_true(octets_may_have_upper(s) || !is_upper);
                memset(out, '#', sizeof out);
                octets_copy_lower(out, s);
                assert_int_equal((unsigned char)out[at], is_upper ? c | 0x20 : c);
                out[at] = plain[at];
                assert_memory_equal(out, plain, len);
                assert_int_equal(out[len], '#');
            }
            text[at] = plain[at];
        }
        guarded_free(text, len);
    }
}

static void test_octets_equal_and_copied(void **state)
{
    (void)state;
    for (size_t len = 0; len <= LENGTH_MAX; len++) {
        char plain[LENGTH_MAX], out[LENGTH_MAX + 1];
        fill(plain, LENGTH_MAX, 3);
        char *a = guarded_copy(plain, len), *b = guarded_copy(plain, len);
        assert_true(octets_equal(a, b, len));
        assert_true(octets_slice_equal(slice_make(a, len), slice_make(b, len)));
        if (len) assert_false(octets_slice_equal(slice_make(a, len), slice_make(b, len - 1)));
        for (size_t at = 0; at < len; at++) {
            b[at] ^= 1;
            assert_false(octets_equal(a, b, len));
            memset(out, '#', sizeof out);
            octets_copy(out, slice_make(b, len));
            assert_memory_equal(out, b, len);
            assert_int_equal(out[len], '#');
            b[at] ^= 1;
        }
        guarded_free(b, len);
        guarded_free(a, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_octets_each_octet_at_each_place),
        cmocka_unit_test(test_octets_equal_and_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
