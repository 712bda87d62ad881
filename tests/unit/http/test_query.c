// SPDX-License-Identifier: MIT
//
// Query and cookie pairs.

#include "http/query.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef bool next_fn(slice *rest, slice *name, slice *value);

enum { PAIRS_MAX = 4 };

typedef struct pairs_case {
    const char *text;
    const char *pairs[PAIRS_MAX * 2 + 1]; // name, value, …, NULL
} pairs_case;

static const pairs_case queries[] = {
    { "", { NULL } },
    { "&", { NULL } },
    { "&&&", { NULL } },
    { "a=1", { "a", "1", NULL } },
    { "a=1&b=2", { "a", "1", "b", "2", NULL } },
    { "&a=1&&b=2&", { "a", "1", "b", "2", NULL } },
    { "a", { "a", "", NULL } },
    { "a=", { "a", "", NULL } },
    { "=", { "", "", NULL } },
    { "=1", { "", "1", NULL } },
    { "a=b=c", { "a", "b=c", NULL } },
    { "a=1;b=2", { "a", "1;b=2", NULL } },
    { "a=1&a=2", { "a", "1", "a", "2", NULL } },
    { "a+b=%20", { "a+b", "%20", NULL } },
};

static const pairs_case cookies[] = {
    { "", { NULL } },
    { "a=1", { "a", "1", NULL } },
    { "a=1; b=2", { "a", "1", "b", "2", NULL } },
    { "a=1;b=2", { "a", "1", "b", "2", NULL } },
    { " a = 1 \t; b\t=2", { "a", "1", "b", "2", NULL } },
    { "a=\"1 2\"; b=\"\"", { "a", "1 2", "b", "", NULL } },
    { "a=\"; b=\"\"\"; c=\"x", { "a", "\"", "b", "\"", "c", "\"x", NULL } },
    { "flag; a=1; ; ;b", { "a", "1", NULL } },
    { "flag", { NULL } },
    { ";;", { NULL } },
    { "=1", { "", "1", NULL } },
    { "a=", { "a", "", NULL } },
    { "a=b=c", { "a", "b=c", NULL } },
    { "a=1, b=2", { "a", "1, b=2", NULL } },
};

static void check_pairs(const pairs_case *c, next_fn *next)
{
    size_t len = strlen(c->text), i = 0;
    char *text = GUARDED_TEXT(c->text);
    slice rest = slice_make(text, len), name, value;
    for (; next(&rest, &name, &value); i += 2) {
        assert_non_null(c->pairs[i]);
        assert_true(slice_equal(name, slice_of(c->pairs[i])));
        assert_true(slice_equal(value, slice_of(c->pairs[i + 1])));
    }
    assert_null(c->pairs[i]);
    assert_false(next(&rest, &name, &value));
    guarded_free(text, len);
}

static void test_query_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        check_pairs(&queries[i], query_next);
    }
    slice none = slice_make(NULL, 0), name, value;
    assert_false(query_next(&none, &name, &value));
}

static void test_cookie_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cookies / sizeof cookies[0]; i++) {
        check_pairs(&cookies[i], cookie_next);
    }
    slice none = slice_make(NULL, 0), name, value;
    assert_false(cookie_next(&none, &name, &value));
}

static const struct {
    const char *encoded;
    const char *plain;
    size_t plain_len;
} decodings[] = {
    { "", "", 0 },
    { "abc", "abc", 3 },
    { "a+b%20c", "a b c", 5 },
    { "%2B%2b", "++", 2 },
    { "%41%7a", "Az", 2 },
    { "%00", "\0", 1 },
    { "%C3%A9", "\xc3\xa9", 2 },
    { "%2541", "%41", 3 },
    // RFC 3986 knows no such "%"; the URL standard's decoder leaves it.
    { "%", "%", 1 },
    { "%4", "%4", 2 },
    { "a%", "a%", 2 },
    { "%4g", "%4g", 3 },
    { "%g4", "%g4", 3 },
    { "%%41", "%A", 2 },
    { "ok%+1", "ok% 1", 5 },
    { "100%", "100%", 4 },
};

static void test_query_decodings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof decodings / sizeof decodings[0]; i++) {
        size_t len = strlen(decodings[i].encoded);
        char *text = GUARDED_TEXT(decodings[i].encoded);
        char *out = GUARDED_TEXT(decodings[i].encoded);
        size_t out_len = query_decode(slice_make(text, len), out);
        assert_int_equal(out_len, decodings[i].plain_len);
        assert_memory_equal(out, decodings[i].plain, out_len);
        guarded_free(out, len);
        guarded_free(text, len);
    }
}

// query_equal agrees with query_decode on every pair of texts of the table.
static void test_query_equal(void **state)
{
    (void)state;
    size_t count = sizeof decodings / sizeof decodings[0];
    for (size_t i = 0; i < count * count; i++) {
        slice encoded = slice_of(decodings[i / count].encoded);
        slice plain = slice_make(decodings[i % count].plain, decodings[i % count].plain_len);
        char out[32];
        bool same = slice_equal(slice_make(out, query_decode(encoded, out)), plain);
        char *text = guarded_copy(encoded.ptr, encoded.len);
        assert_int_equal(query_equal(slice_make(text, encoded.len), plain), same);
        guarded_free(text, encoded.len);
    }
    assert_false(query_equal(slice_of("abc"), slice_of("ab")));
    assert_false(query_equal(slice_of("ab"), slice_of("abc")));
    assert_false(query_equal(slice_of("ab%"), slice_of("ab")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_pairs),
        cmocka_unit_test(test_cookie_pairs),
        cmocka_unit_test(test_query_decodings),
        cmocka_unit_test(test_query_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
