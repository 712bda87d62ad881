// SPDX-License-Identifier: MIT
//
// Forms: what is decoded, what is broken, and that the text's room is not left.

#include "http/form.h"

#include "support/support.h"

#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct form_case {
    const char *encoded;
    const char *pairs[7]; // names and values, NULL at the end
} form_case;

static void check_form(const form_case *c)
{
    size_t len = strlen(c->encoded);
    char *encoded = GUARDED_TEXT(c->encoded);
    slice input = slice_make(encoded, len);
    unsigned count = form_count(input, 100);
    skua_field pairs[8];
    char *text = malloc(len ? len : 1); // exactly what is promised to do: the sanitizer watches it
    assert_non_null(text);
    assert_true(count < 8);
    form_decode(input, pairs, count, text);
    for (unsigned i = 0; i < count; i++) {
        assert_non_null(c->pairs[2 * i]);
        if (!slice_equal(pairs[i].name, slice_of(c->pairs[2 * i])))
            fail_msg("%s: name %u", c->encoded, i);
        if (!slice_equal(pairs[i].value, slice_of(c->pairs[2 * i + 1])))
            fail_msg("%s: value %u", c->encoded, i);
    }
    assert_null(c->pairs[2 * count]);
    free(text);
    guarded_free(encoded, len);
}

static void test_form_decodes_pairs(void **state)
{
    (void)state;
    static const form_case cases[] = {
        { "", { NULL } },
        { "&&&", { NULL } },
        { "a=1&b=2", { "a", "1", "b", "2", NULL } },
        { "a", { "a", "", NULL } },
        { "=x", { "", "x", NULL } },
        { "a=b=c", { "a", "b=c", NULL } },
        { "a+b=%41+%2b", { "a b", "A +", NULL } },
        { "%C3%A9=%26%3D", { "\xc3\xa9", "&=", NULL } },
        { "a=%zz&b=2", { "a", "%zz", "b", "2", NULL } },
        { "%1=x&c=%&4", { "%1", "x", "c", "%", "4", "", NULL } },
        { "a=1&a=2&&a=3", { "a", "1", "a", "2", "a", "3", NULL } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_form(&cases[i]);
}

static void test_form_counts_up_to_a_bound(void **state)
{
    (void)state;
    assert_int_equal(form_count(SKUA_SLICE("a&b&c"), 2), 2);
    assert_int_equal(form_count(SKUA_SLICE("a&b&c"), 3), 3);
    assert_int_equal(form_count(SKUA_SLICE("a&b&c"), 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form_decodes_pairs),
        cmocka_unit_test(test_form_counts_up_to_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
