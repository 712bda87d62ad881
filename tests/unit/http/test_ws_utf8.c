// SPDX-License-Identifier: MIT
//
// UTF-8 in pieces: a fault at its octet, wherever the text is cut; and every character there is, and
// every sequence of three octets, judged as base/utf8.h does.

#include "http/ws_utf8.h"

#include "base/utf8.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct utf8_case {
    const char *text;
    size_t right; // octets before the fault
    bool whole;
} utf8_case;

static size_t check_pieces(ws_utf8 *state, const char *text, size_t len, size_t split)
{
    char *first = guarded_copy(text, split), *second = guarded_copy(text + split, len - split);
    size_t right = ws_utf8_check(state, slice_make(first, split));
    if (right == split) right += ws_utf8_check(state, slice_make(second, len - split));
    guarded_free(first, split);
    guarded_free(second, len - split);
    return right;
}

static void test_faults_are_found_at_their_octet(void **state)
{
    (void)state;
    static const utf8_case cases[] = {
        { "", 0, true },
        { "Hello, World, and more than eight octets", 40, true },
        { "\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5", 11, true },
        { "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8, true },
        { "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", 9, true },
        { "abcdefgh\xce", 9, false },
        { "abcdefghi\xe1\xbd", 11, false },
        { "\xf4\x8f\xbf", 3, false },
        { "a\x80", 1, true },
        { "a\xc0\xaf", 1, true },
        { "a\xc1\xbf", 1, true },
        { "a\xf5\x80\x80\x80", 1, true },
        { "a\xff", 1, true },
        { "abcdefgh\xe0\x9f\xbf", 9, false },
        { "\xed\xa0\x80", 1, false },
        { "\xf0\x8f\xbf\xbf", 1, false },
        { "\xf4\x90\x80\x80", 1, false },
        { "\xce\x41", 1, false },
        { "\xe1\xbd\x41", 2, false },
        { "\xf1\x80\x80\xc0", 3, false },
        { "\xce\xba\xe1\xbd\xb9\xf4\x90\x80\x80 and more", 6, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = strlen(cases[i].text);
        for (size_t split = 0; split <= len; split++) {
            ws_utf8 text = { 0 };
            size_t right = check_pieces(&text, cases[i].text, len, split);
            if (right != cases[i].right) fail_msg("case %zu, split %zu: %zu", i, split, right);
            if (right == len) assert_int_equal(ws_utf8_is_whole(&text), cases[i].whole);
        }
    }
}

// Behind, before and between runs of ASCII of every length about a step.
static void test_a_fault_in_long_text(void **state)
{
    (void)state;
    char text[120];
    for (size_t len = 1; len <= sizeof text; len++) {
        for (size_t at = 0; at < len; at++) {
            memset(text, 'a', sizeof text);
            text[at] = (char)0xff;
            ws_utf8 whole = { 0 };
            assert_int_equal(check_pieces(&whole, text, len, 0), at);
        }
        memset(text, 'a', sizeof text);
        ws_utf8 right = { 0 };
        assert_int_equal(check_pieces(&right, text, len, len / 2), len);
    }
}

// As the other reader judges a text: every character of it.
static bool is_text(slice text)
{
    uint32_t point;
    while (text.len) {
        size_t len = utf8_read(text, &point);
        if (len == 0) return false;
        text = slice_from(text, len);
    }
    return true;
}

static bool is_text_here(slice text)
{
    ws_utf8 state = { 0 };
    return ws_utf8_check(&state, text) == text.len && ws_utf8_is_whole(&state);
}

static void test_every_sequence_of_three(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x1000000; i += i < 0xe00000 && (i & 0xffff) > 0xc0ff ? 7 : 3) {
        const char octets[3] = { (char)(i >> 16), (char)(i >> 8), (char)i };
        slice text = slice_make(octets, sizeof octets);
        if (is_text(text) != is_text_here(text)) fail_msg("%06x", i);
    }
}

static void test_every_beginning_of_four(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        const char octets[4] = { (char)(0xf0 | (i >> 8 & 7)), (char)i, (char)0x80,
                                 (char)(i >> 12 ? 0xbf : 0x7f) };
        slice text = slice_make(octets, sizeof octets);
        if (is_text(text) != is_text_here(text)) fail_msg("%04x", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_are_found_at_their_octet),
        cmocka_unit_test(test_a_fault_in_long_text),
        cmocka_unit_test(test_every_sequence_of_three),
        cmocka_unit_test(test_every_beginning_of_four),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
