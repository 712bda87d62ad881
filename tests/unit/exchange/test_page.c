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

// ---- SHA-256, FIPS 180-4, of one short message: an independent judge of page_policy ----

static const uint32_t sha_keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void sha_block(uint32_t state[8], const unsigned char *octets)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        const unsigned char *at = octets + 4 * i;
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t e = s[4], a = s[0];
        uint32_t t1 = s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                      ((e & s[5]) ^ (~e & s[6])) + sha_keys[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void sha256(slice text, unsigned char digest[32])
{
    unsigned char padded[1024] = { 0 };
    uint32_t state[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    size_t len = (text.len + 9 + 63) / 64 * 64;
    assert_true(len <= sizeof padded);
    memcpy(padded, text.ptr, text.len);
    padded[text.len] = 0x80;
    for (size_t i = 0; i < 8; i++)
        padded[len - 1 - i] = (unsigned char)(text.len * 8 >> 8 * i);
    for (size_t at = 0; at < len; at += 64)
        sha_block(state, padded + at);
    for (size_t i = 0; i < 32; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - i % 4 * 8));
}

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

static void sha256_of_a_known_text(void **state)
{
    (void)state;
    unsigned char digest[32];
    char text[45];
    sha256(slice_of("abc"), digest);
    base64(digest, text);
    assert_string_equal(text, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

static void policy_allows_the_style_and_nothing_else(void **state)
{
    (void)state;
    char page[PAGE_OCTETS_MAX + 1], expected[128], hash[45];
    unsigned char digest[32];
    page[page_write(404, slice_of("GET"), (slice){ 0 }, page, PAGE_OCTETS_MAX)] = '\0';
    const char *style = strstr(page, "<style>"), *end = strstr(page, "</style>");
    assert_true(style && end);
    style += strlen("<style>");
    sha256(slice_make(style, (size_t)(end - style)), digest);
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
        cmocka_unit_test(sha256_of_a_known_text),
        cmocka_unit_test(policy_allows_the_style_and_nothing_else),
        cmocka_unit_test(reasons),
        cmocka_unit_test(every_page_fits_and_names_its_status),
        cmocka_unit_test(only_405_and_501_name_the_method),
        cmocka_unit_test(a_method_cannot_bring_markup),
        cmocka_unit_test(a_sentence_is_escaped_and_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
