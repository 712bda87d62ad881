// SPDX-License-Identifier: MIT
//
// Error pages: every registered code has its phrase, the style matches the policy's hash, and
// nothing of the request's gets into a page unescaped.

#include "exchange/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void base64(const unsigned char digest[32], char text[45])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < 43; i++) {
        size_t bit = i * 6, octet = bit / 8;
        unsigned pair = (unsigned)digest[octet] << 8 | (octet + 1 < 32 ? digest[octet + 1] : 0u);
        text[i] = letters[pair >> (10 - bit % 8) & 63];
    }
    memcpy(text + 43, "=", 2);
}

// ---- Tests ----

static void policy_allows_the_style_and_nothing_else(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX + 1], expected[128], hash[45];
    unsigned char digest[32];
    page[page_write(404, slice_of("GET"), (slice){ 0 }, page, PAGE_OCTETS_MAX)] = '\0';
    const char *style = strstr(page, "<style>"), *end = strstr(page, "</style>");
    assert_true(style && end);
    style += strlen("<style>");
    skua_sha256(slice_make(style, (size_t)(end - style)), digest);
    base64(digest, hash);
    (void)snprintf(expected, sizeof expected, "default-src 'none'; style-src 'sha256-%s'", hash);
    assert_string_equal(page_policy, expected);
}

static void reasons(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *reason;
    } cases[] = {
        { 100, "Continue" },
        { 103, "Early Hints" },
        { 200, "OK" },
        { 206, "Partial Content" },
        { 304, "Not Modified" },
        { 308, "Permanent Redirect" },
        { 404, "Not Found" },
        { 413, "Content Too Large" },
        { 421, "Misdirected Request" },
        { 422, "Unprocessable Content" },
        { 431, "Request Header Fields Too Large" },
        { 451, "Unavailable For Legal Reasons" },
        { 505, "HTTP Version Not Supported" },
        { 511, "Network Authentication Required" },
        { 306, "" },
        { 418, "" },
        { 299, "" },
        { 599, "" },
        { 0, "" },
        { -1, "" },
        { 65940, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_string_equal(page_reason(cases[i].status), cases[i].reason);
    }
}

static void every_page_fits_and_names_its_status(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX], text[PAGE_TEXT_OCTETS_MAX], head[64], method[200];
    memset(method, 'M', sizeof method);
    for (int status = 100; status <= 999; status++) {
        size_t len =
            page_write(status, slice_make(method, sizeof method), (slice){ 0 }, page, sizeof page);
        size_t text_len = page_write_text(status, slice_make(method, sizeof method), (slice){ 0 },
                                          text, sizeof text);
        assert_true(len <= sizeof page && text_len <= sizeof text);
        const char *reason = page_reason(status);
        int n = snprintf(head, sizeof head, "%d%s%s", status, *reason ? " " : "", reason);
        assert_non_null(memmem(page, len, head, (size_t)n));
        assert_memory_equal(text, head, (size_t)n);
        assert_int_equal(text[text_len - 1], '\n');
    }
}

static void only_405_and_501_name_the_method(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX + 1], text[PAGE_TEXT_OCTETS_MAX + 1];
    page[page_write(405, slice_of("BREW-2"), (slice){ 0 }, page, PAGE_OCTETS_MAX)] = '\0';
    assert_non_null(strstr(page, "<p>This address does not take the method BREW-2.</p>"));
    page[page_write(404, slice_of("BREW-2"), (slice){ 0 }, page, PAGE_OCTETS_MAX)] = '\0';
    assert_null(strstr(page, "BREW"));
    text[page_write_text(501, slice_of(""), (slice){ 0 }, text, PAGE_TEXT_OCTETS_MAX)] = '\0';
    assert_string_equal(
        text, "501 Not Implemented. The server does not know the method of the request.\n");
}

static void a_method_cannot_bring_markup(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX + 1];
    page[page_write(405, slice_of("<b>&'\x1b\xc2\x85"), (slice){ 0 }, page, PAGE_OCTETS_MAX)] =
        '\0';
    assert_non_null(strstr(page, "the method ?b??????."));
}

static void a_sentence_is_escaped_and_cut_between_characters(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX + 1], text[PAGE_TEXT_OCTETS_MAX + 1], sentence[600];
    slice markup = slice_of("<i>\"A&B\"</i>");
    page[page_write(404, slice_of("GET"), markup, page, PAGE_OCTETS_MAX)] = '\0';
    assert_non_null(strstr(page, "<p>&lt;i&gt;&quot;A&amp;B&quot;&lt;/i&gt;</p>"));
    text[page_write_text(404, slice_of("GET"), markup, text, PAGE_TEXT_OCTETS_MAX)] = '\0';
    assert_string_equal(text, "404 Not Found. <i>\"A&B\"</i>\n");
    memset(sentence, '"', sizeof sentence);
    size_t len = page_write(431, slice_of("GET"), slice_make(sentence, sizeof sentence), page,
                            PAGE_OCTETS_MAX);
    assert_true(len <= PAGE_OCTETS_MAX);
    memcpy(sentence + PAGE_SENTENCE_OCTETS_MAX - 1, "\xe2\x82\xac", 3);
    len = page_write_text(431, slice_of("GET"), slice_make(sentence, sizeof sentence), text,
                          PAGE_TEXT_OCTETS_MAX);
    assert_true(len <= PAGE_TEXT_OCTETS_MAX && memcmp(text + len - 2, "\"\n", 2) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(policy_allows_the_style_and_nothing_else),
        cmocka_unit_test(reasons),
        cmocka_unit_test(every_page_fits_and_names_its_status),
        cmocka_unit_test(only_405_and_501_name_the_method),
        cmocka_unit_test(a_method_cannot_bring_markup),
        cmocka_unit_test(a_sentence_is_escaped_and_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
