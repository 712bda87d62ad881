// SPDX-License-Identifier: MIT
//
// HTML from hostile names.

#include "files/markup.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct text_case {
    const char *text, *shown;
} text_case;

static const text_case texts[] = {
    { "", "" },
    { "plain name.txt", "plain name.txt" },
    { "<a href=\"x\">&'", "&lt;a href=&quot;x&quot;&gt;&amp;&#39;" },
    { "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80" },
    { "a\nb\tc\x7f\x1b[31m", "a\\x0Ab\\x09c\\x7F\\x1B[31m" },
    { "c1 \xc2\x85\xc2\x9f|\xc2\xa0", "c1 \\u{0085}\\u{009F}|\xc2\xa0" },
    { "\xe2\x80\xae"
      "gnp.exe",
      "\\u{202E}gnp.exe" },
    { "\xe2\x80\x8e\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8\xef\xbb\xbf",
      "\\u{200E}\\u{2066}\\u{061C}\\u{2028}\\u{FEFF}" },
    { "\xf3\xa0\x81\x81", "\\u{E0041}" },                       // a tag: text that nobody sees
    { "\xe2\x80\x8d\xe2\x80\x8c", "\xe2\x80\x8d\xe2\x80\x8c" }, // joiners
    { "\xff", "\\xFF" },
    { "\x80z", "\\x80z" },
    { "\xc3", "\\xC3" }, // cut
    { "\xc3z", "\\xC3z" },
    { "\xe6\x97", "\\xE6\\x97" },
    { "\xf0\x9f\x98", "\\xF0\\x9F\\x98" },
    { "\xc0\xaf", "\\xC0\\xAF" },          // not the shortest form of "/"
    { "\xe0\x80\xbc", "\\xE0\\x80\\xBC" }, // nor of "<"
    { "\xf0\x80\x80\xbc", "\\xF0\\x80\\x80\\xBC" },
    { "\xed\xa0\x80", "\\xED\\xA0\\x80" },          // a surrogate
    { "\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80" }, // past U+10FFFF
    { "\xf5", "\\xF5" },
};

static void expect_markup(markup *m, const char *expected)
{
    assert_false(m->failed);
    assert_int_equal(m->len, strlen(expected));
    if (m->len) assert_memory_equal(m->ptr, expected, m->len);
    markup_free(m);
}

static void test_markup_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size_t len = strlen(texts[i].text);
        char *text = guarded_copy(texts[i].text, len);
        markup m = { 0 };
        markup_text(&m, slice_make(text, len), false);
        expect_markup(&m, texts[i].shown);
        guarded_free(text, len);
    }
}

static void test_markup_marks_escapes(void **state)
{
    (void)state;
    markup m = { 0 };
    markup_text(&m, SKUA_SLICE("a\n\xff<\xe2\x80\xae"), true);
    expect_markup(&m, "a<i>\\x0A</i><i>\\xFF</i>&lt;<i>\\u{202E}</i>");
}

// Whatever the octets are, what is shown is printable UTF-8 with no markup of its own.
static void test_markup_text_of_every_pair(void **state)
{
    (void)state;
    for (unsigned pair = 0; pair < 0x10000; pair++) {
        char text[] = { (char)(pair >> 8), (char)(pair & 255) };
        markup m = { 0 };
        markup_text(&m, slice_make(text, sizeof text), false);
        for (size_t i = 0; i < m.len; i++) {
            unsigned char octet = (unsigned char)m.ptr[i];
            assert_true(octet >= 0x20 && octet != 0x7f && octet < 0xf5);
            assert_true(octet != '<' && octet != '>' && octet != '"' && octet != '\'');
        }
        markup_free(&m);
    }
}

static void test_markup_segment(void **state)
{
    (void)state;
    markup m = { 0 };
    markup_segment(&m, SKUA_SLICE("aZ09-._~ /?#%&\"'<>:@\\\n\xff"));
    expect_markup(&m, "aZ09-._~%20%2F%3F%23%25%26%22%27%3C%3E%3A%40%5C%0A%FF");
}

static void test_markup_numbers(void **state)
{
    (void)state;
    markup m = { 0 };
    markup_number(&m, 0);
    markup_literal(&m, " ");
    markup_number(&m, UINT64_MAX);
    expect_markup(&m, "0 18446744073709551615");
}

static void test_markup_grows(void **state)
{
    (void)state;
    markup m = { 0 };
    for (unsigned i = 0; i < 100000; i++)
        markup_put(&m, slice_make(&"0123456789"[i % 10], 1));
    assert_int_equal(m.len, 100000);
    for (size_t i = 0; i < m.len; i++)
        assert_int_equal(m.ptr[i], '0' + (int)(i % 10));
    markup_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_markup_text),
        cmocka_unit_test(test_markup_marks_escapes),
        cmocka_unit_test(test_markup_text_of_every_pair),
        cmocka_unit_test(test_markup_segment),
        cmocka_unit_test(test_markup_numbers),
        cmocka_unit_test(test_markup_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
