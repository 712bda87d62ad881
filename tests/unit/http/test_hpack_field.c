// SPDX-License-Identifier: MIT
//
// Judging fields: names and values at each rule of RFC 9113 §8.2.1, and with every octet.

#include "http/hpack_field.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { NAME = HPACK_NAME_IS_VALID, VALUE = HPACK_VALUE_IS_VALID, SOUND = HPACK_VALUE_IS_SOUND };

static const struct {
    const char *name, *value;
    int token, id, flags;
} cases[] = {
    { "host", "a", HPACK_TOKEN_FIELD, FIELD_HOST, NAME | VALUE | SOUND },
    { "host", "a b", HPACK_TOKEN_FIELD, FIELD_HOST, NAME | VALUE },
    { "host", " a", HPACK_TOKEN_FIELD, FIELD_HOST, NAME },
    { "Host", "a", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "content-length", "1", HPACK_TOKEN_FIELD, FIELD_CONTENT_LENGTH, NAME | VALUE },
    { "content-lengtH", "1", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "content\rlength", "1", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "te", "trailers", HPACK_TOKEN_FIELD, FIELD_TE, NAME | VALUE },
    { "x-other", "", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME | VALUE },
    { "", "a", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "a b", "a", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "a:", "a", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "\xc3\xa9", "a", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
    { "a", " a", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "a ", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "\ta", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "a\t", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", " ", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "a \t b", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME | VALUE },
    { "a", "a\nb", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "a\rb", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
    { "a", "\xc3\xa9", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME | VALUE },
    { ":method", "GET", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":scheme", "https", HPACK_TOKEN_SCHEME, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":authority", "a", HPACK_TOKEN_AUTHORITY, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":path", "/", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":method", "A-METHOD", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":method", "GET /", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE },
    { ":method", "", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE },
    { ":scheme", "HTTP", HPACK_TOKEN_SCHEME, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":scheme", "gopher", HPACK_TOKEN_SCHEME, FIELD_OTHER, NAME | VALUE },
    { ":authority", "", HPACK_TOKEN_AUTHORITY, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":authority", "a@b", HPACK_TOKEN_AUTHORITY, FIELD_OTHER, NAME | VALUE },
    { ":path", "*", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":path", "*a", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE },
    { ":path", "a", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE },
    { ":path", "", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE },
    { ":protocol", "websocket", HPACK_TOKEN_PROTOCOL, FIELD_OTHER, NAME | VALUE | SOUND },
    { ":protocol", "", HPACK_TOKEN_PROTOCOL, FIELD_OTHER, NAME | VALUE },
    { ":protocol", "web socket", HPACK_TOKEN_PROTOCOL, FIELD_OTHER, NAME | VALUE },
    { ":status", "200", HPACK_TOKEN_STATUS, FIELD_OTHER, NAME | VALUE },
    { ":Path", "/", HPACK_TOKEN_PSEUDO_OTHER, FIELD_OTHER, VALUE },
    { ":", "/", HPACK_TOKEN_PSEUDO_OTHER, FIELD_OTHER, VALUE },
    { ":paths", "/", HPACK_TOKEN_PSEUDO_OTHER, FIELD_OTHER, VALUE },
};

static hpack_field judge(slice name, slice value)
{
    char *n = guarded_copy(name.ptr, name.len), *v = guarded_copy(value.ptr, value.len);
    hpack_field field = { .name = slice_make(n, name.len),
                          .value = slice_make(v, value.len),
                          .flags = 0xff };
    hpack_field_judge_name(&field);
    hpack_field_judge_value(&field);
    guarded_free(v, value.len);
    guarded_free(n, name.len);
    return field;
}

static void test_hpack_fields_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slice name = slice_of(cases[i].name), value = slice_of(cases[i].value);
        hpack_field field = judge(name, value);
        if (field.token != cases[i].token || field.id != cases[i].id ||
            field.flags != cases[i].flags)
            fail_msg("%s: %s: %d %d %d", cases[i].name, cases[i].value, field.token, field.id,
                     field.flags);
        assert_int_equal(field.octets, name.len + value.len + 32);
    }
}

static bool is_lower_token_octet(unsigned c)
{
    return c && (c < 'A' || c > 'Z') && c < 0x7f &&
           (strchr("!#$%&'*+-.^_`|~0123456789", (int)c) || (c >= 'a' && c <= 'z'));
}

// At each place of names and values of up to 40 octets.
static void test_hpack_each_octet_is_judged(void **state)
{
    (void)state;
    char text[40];
    for (size_t len = 1; len <= sizeof text; len += len < 18 ? 1 : 11) {
        for (size_t at = 0; at < len; at += len < 10 ? 1 : 5) {
            for (unsigned c = 0; c < 256; c++) {
                if (c == ':' && at == 0) continue;
                memset(text, 'a', sizeof text);
                text[at] = (char)c;
                hpack_field field = judge(slice_make(text, len), slice_make(text, len));
                bool is_blank = c == ' ' || c == '\t', is_end = at == 0 || at + 1 == len;
                bool is_value = (c >= ' ' && c != 0x7f) || c == '\t';
                assert_int_equal((field.flags & NAME) != 0, is_lower_token_octet(c));
                assert_int_equal((field.flags & VALUE) != 0, is_value && !(is_blank && is_end));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpack_fields_are_judged),
        cmocka_unit_test(test_hpack_each_octet_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
