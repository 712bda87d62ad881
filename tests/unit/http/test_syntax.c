// SPDX-License-Identifier: MIT
//
// The small grammars: the table against the RFCs' own words, wide spans against portable ones at
// every length and place, Host and lists.

#include "http/syntax.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

// ---- The table ----

static bool is_alnum(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_in(int c, const char *text)
{
    return c != 0 && strchr(text, c) != NULL;
}

static bool is_unreserved(int c)
{
    return is_alnum(c) || is_in(c, "-._~");
}

static bool is_sub_delim(int c)
{
    return is_in(c, "!$&'()*+,;=");
}

static bool is_qdtext(int c)
{
    return c == '\t' || c == ' ' || c == 0x21 || (c >= 0x23 && c <= 0x5b) ||
           (c >= 0x5d && c <= 0x7e) || c >= 0x80;
}

static int classes_of(int c)
{
    bool host = is_unreserved(c) || is_sub_delim(c);
    return (is_alnum(c) || is_in(c, "!#$%&'*+-.^_`|~") ? SYNTAX_TOKEN : 0) |
           (c == '\t' || (c >= 0x20 && c <= 0x7e) || c >= 0x80 ? SYNTAX_FIELD : 0) |
           (c > 0x20 && c < 0x7f && !is_in(c, "\"#<>") ? SYNTAX_TARGET : 0) |
           (host || is_in(c, ":@") ? SYNTAX_PATH_PLAIN : 0) |
           (is_in(c, "0123456789abcdefABCDEF") ? SYNTAX_HEX : 0) | (host ? SYNTAX_HOST : 0) |
           (is_qdtext(c) ? SYNTAX_QUOTED : 0);
}

static void test_syntax_table(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++)
        assert_int_equal(syntax_table[c], classes_of(c));
}

// ---- Spans ----

typedef size_t span_fn(const char *ptr, size_t len);

typedef struct span_pair {
    span_fn *wide, *portable;
    int class;
} span_pair;

static const span_pair pairs[] = {
    { syntax_span_token, syntax_span_token_portable, SYNTAX_TOKEN },
    { syntax_span_field, syntax_span_field_portable, SYNTAX_FIELD },
    { syntax_span_target, syntax_span_target_portable, SYNTAX_TARGET },
};

enum { PAIRS = sizeof(pairs) / sizeof(pairs[0]) };

// Every octet, alone in a run of others, at every place: both forms stop there, or don't.
static void check_octet(const span_pair *pair, char *text, size_t len, size_t at)
{
    for (int c = 0; c < 256; c++) {
        text[at] = (char)c;
        size_t want = classes_of(c) & pair->class ? len : at;
        assert_int_equal(pair->portable(text, len), want);
        assert_int_equal(pair->wide(text, len), want);
    }
    text[at] = 'a';
}

static void check_length(const span_pair *pair, size_t len)
{
    char fill[256];
    memset(fill, 'a', sizeof(fill));
    char *text = guarded_copy(fill, len);
    assert_int_equal(pair->wide(text, len), len);
    for (size_t at = 0; at < len; at++)
        check_octet(pair, text, len, at);
    guarded_free(text, len);
}

static void test_syntax_spans_at_every_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < PAIRS; i++) {
        for (size_t len = 0; len <= 130; len++)
            check_length(&pairs[i], len);
    }
}

// Runs of rare octets of the class, where the wide forms have to look twice.
static void test_syntax_spans_of_rare_octets(void **state)
{
    (void)state;
    char fill[200];
    for (size_t i = 0; i < PAIRS; i++) {
        for (int c = 0; c < 256; c++) {
            if (!(classes_of(c) & pairs[i].class)) continue;
            memset(fill, c, sizeof(fill));
            fill[sizeof(fill) - 9] = '\n';
            assert_int_equal(pairs[i].wide(fill, sizeof(fill)), sizeof(fill) - 9);
        }
    }
}

static void test_syntax_whole_texts(void **state)
{
    (void)state;
    assert_false(syntax_is_token(slice_make(NULL, 0)));
    assert_true(syntax_is_token(SKUA_SLICE("x_Y~9")));
    assert_false(syntax_is_token(SKUA_SLICE("a b")));
    assert_true(syntax_is_field_value(slice_make(NULL, 0)));
    assert_true(syntax_is_field_value(SKUA_SLICE("a \t\xff")));
    assert_false(syntax_is_field_value(SKUA_SLICE("a\r\nb")));
    assert_false(syntax_is_field_value(SKUA_SLICE("a\0")));
}

// ---- Host ----

typedef struct host_case {
    const char *text;
    bool valid;
} host_case;

static const host_case hosts[] = {
    { "", true },
    { "a", true },
    { "localhost:8080", true },
    { "example.com.", true },
    { "1.2.3.4", true },
    { "256.256.256.256", true }, // a reg-name, as the grammar has it
    { "a:", true },
    { "a:0", true },
    { "a_b-c~d!$&'()*+,;=", true },
    { "%41", true },
    { "%", false },
    { "%4", false },
    { "%4g", false },
    { "a:b", false },
    { "a:1:2", false },
    { "a:-1", false },
    { "a:+1", false },
    { ":", false },
    { ":80", false },
    { "a b", false },
    { "a/", false },
    { "a?", false },
    { "a#", false },
    { "u@a", false },
    { "a\\b", false },
    { "a\"", false },
    { "<a>", false },
    { "\xc3\xbc", false },
    { "[::]", true },
    { "[::1]", true },
    { "[::1]:80", true },
    { "[::1]:", true },
    { "[1::]", true },
    { "[1:2:3:4:5:6:7:8]", true },
    { "[1:2:3:4:5:6:7::]", true },
    { "[::2:3:4:5:6:7:8]", true },
    { "[1::3:4:5:6:7:8]", true },
    { "[2001:DB8:a:0:0:0:0:ffff]", true },
    { "[::ffff:192.0.2.1]", true },
    { "[1:2:3:4:5:6:192.0.2.1]", true },
    { "[1:2:3:4:5::192.0.2.1]", true },
    { "[::192.0.2.255]", true },
    { "[v1.a:b]", true },
    { "[vF.~]", true },
    { "[", false },
    { "]", false },
    { "[]", false },
    { "[]:80", false },
    { "[:]", false },
    { "[:::]", false },
    { "[1]", false },
    { "[1:2:3:4:5:6:7]", false },
    { "[1:2:3:4:5:6:7:8:9]", false },
    { "[1:2:3:4:5:6:7:8::]", false },
    { "[1:2:3:4::5:6:7:8]", false },
    { "[1::2::3]", false },
    { "[:1:2:3:4:5:6:7]", false },
    { "[1:2:3:4:5:6:7:]", false },
    { "[::1:]", false },
    { "[12345::]", false },
    { "[g::]", false },
    { "[::192.0.2]", false },
    { "[::192.0.2.1.1]", false },
    { "[::192.0.2.256]", false },
    { "[::192.0.2.01]", false },
    { "[::1000.0.2.1]", false },
    { "[::192.0.2.1:1]", false },
    { "[192.0.2.1::]", false },
    { "[192.0.2.1]", false },
    { "[1:2:3:4:5:6:7:192.0.2.1]", false },
    { "[1:2:3:4:5:6::192.0.2.1]", false },
    { "[::1%25en0]", false },
    { "[::1", false },
    { "[::1]80", false },
    { "[::1]:80x", false },
    { "[::1]]", false },
    { "[v.a]", false },
    { "[v1.]", false },
    { "[v1a]", false },
    { "[vg.a]", false },
    { "[v1.a/b]", false },
    { "x[::1]", false },
};

static void test_syntax_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        size_t len = strlen(hosts[i].text);
        char *text = GUARDED_TEXT(hosts[i].text);
        if (syntax_is_host(slice_make(text, len)) != hosts[i].valid) fail_msg("%s", hosts[i].text);
        guarded_free(text, len);
    }
    assert_true(syntax_is_host(slice_make(NULL, 0)));
    assert_false(syntax_is_host(SKUA_SLICE("a\0")));
}

// ---- Lists ----

typedef struct list_case {
    const char *text;
    const char *members; // each followed by "|"
} list_case;

static const list_case lists[] = {
    { "", "" },
    { ",", "" },
    { " \t, ,\t", "" },
    { "a", "a|" },
    { "a,b", "a|b|" },
    { " a ,\tb\t", "a|b|" },
    { ",a,,b,", "a|b|" },
    { "a b, c", "a b|c|" },
    { "\"a,b\",c", "\"a,b\"|c|" },
    { "x=\"a\\\",b\", c", "x=\"a\\\",b\"|c|" },
    { "\"a,b", "\"a,b|" },
    { "\"a\\", "\"a\\|" },
    { "a\\,b", "a\\|b|" },
    { "\"\", b", "\"\"|b|" },
};

static void test_syntax_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        size_t len = strlen(lists[i].text);
        char *text = GUARDED_TEXT(lists[i].text);
        char members[64] = { 0 };
        size_t at = 0;
        slice rest = slice_make(text, len), member;
        while (syntax_list_next(&rest, &member)) {
            assert_true(at + member.len + 2 <= sizeof(members));
            memcpy(members + at, member.ptr, member.len);
            at += member.len;
            members[at++] = '|';
        }
        assert_int_equal(rest.len, 0);
        assert_string_equal(members, lists[i].members);
        guarded_free(text, len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax_table),
        cmocka_unit_test(test_syntax_spans_at_every_length),
        cmocka_unit_test(test_syntax_spans_of_rare_octets),
        cmocka_unit_test(test_syntax_whole_texts),
        cmocka_unit_test(test_syntax_host),
        cmocka_unit_test(test_syntax_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
