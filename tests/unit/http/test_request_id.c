// SPDX-License-Identifier: MIT
//
// Names of requests: what is taken, and what is not.

#include "http/request_id.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define VALID "00-" TRACE "-00f067aa0ba902b7-01"

static bool reads(const char *text, size_t len)
{
    char *copy = guarded_copy(text, len);
    slice id = { 0 };
    bool read = request_id_of_trace(slice_make(copy, len), &id);
    if (read) assert_true(slice_equal(id, SKUA_SLICE(TRACE)));
    else assert_null(id.ptr);
    guarded_free(copy, len);
    return read;
}

static void traces_are_read(void **state)
{
    (void)state;
    assert_true(reads(VALID, strlen(VALID)));
    static const char later[] = "fe-" TRACE "-00f067aa0ba902b7-ff-more";
    assert_true(reads(later, strlen(later)));
    assert_true(reads(later, strlen(VALID)));
}

// Each octet has its place: cut anywhere, or with any octet replaced by one that is none of its
// kind, it is refused.
static void others_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < strlen(VALID); i++) {
        assert_false(reads(VALID, i));
        for (const char *wrong = "gG_ A"; *wrong; wrong++) {
            char text[] = VALID;
            text[i] = *wrong;
            assert_false(reads(text, strlen(text)));
        }
    }
    static const char *const more[] = { VALID "-more",
                                        VALID "0",
                                        "ff-" TRACE "-00f067aa0ba902b7-01",
                                        "01-" TRACE "-00f067aa0ba902b7-01x",
                                        "00-" TRACE "-0000000000000000-01",
                                        "00-00000000000000000000000000000000-00f067aa0ba902b7-01" };
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        assert_false(reads(more[i], strlen(more[i])));
    }
}

static void names_are_safe(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char text[2] = { (char)c, 0 };
        bool safe = c && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_.:+/=@",
                                c);
        assert_int_equal(request_id_is_safe(slice_make(text, 1)), safe);
    }
    char longest[REQUEST_ID_OCTETS_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_true(request_id_is_safe(slice_make(longest, REQUEST_ID_OCTETS_MAX)));
    assert_false(request_id_is_safe(slice_make(longest, REQUEST_ID_OCTETS_MAX + 1)));
    assert_false(request_id_is_safe(slice_make(longest, 0)));
}

static void numbers_are_written(void **state)
{
    (void)state;
    char text[REQUEST_ID_TRACE_OCTETS];
    request_id_write(0x0123456789abcdef, 0xfedcba9876543210, text);
    assert_memory_equal(text, "0123456789abcdeffedcba9876543210", sizeof text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_are_read),
        cmocka_unit_test(others_are_refused),
        cmocka_unit_test(names_are_safe),
        cmocka_unit_test(numbers_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
