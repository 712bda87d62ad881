// SPDX-License-Identifier: MIT
//
// The page of a listing: its links, its text, and that its policy allows its own style.

#include "files/listing_json.h"
#include "files/listing_page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

// ---- SHA-256, FIPS 180-4: only to check the hash in the policy ----

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word >> bits | word << (32 - bits);
}

__extension__ typedef unsigned __int128 wide;

// The fractional parts of the roots of the first primes, in fixed point: integer roots of prime *
// 2^(32*degree).
static uint32_t root_fraction(uint64_t prime, unsigned degree)
{
    wide low = 0, high = (wide)1 << 40;
    wide target = (wide)prime << (degree == 2 ? 64 : 96);
    while (high - low > 1) {
        wide middle = (low + high) / 2;
        wide power = middle * middle;
        bool over = power > target || (degree == 3 && power > target / middle);
        if (over) high = middle;
        else low = middle;
    }
    return (uint32_t)low;
}

static uint64_t next_prime(uint64_t n)
{
    for (;;) {
        n++;
        bool prime = n > 1;
        for (uint64_t i = 2; i * i <= n; i++)
            prime = prime && n % i != 0;
        if (prime) return n;
    }
}

static void sha256_block(uint32_t state[8], const unsigned char *octets, const uint32_t keys[64])
{
    uint32_t w[64], v[8];
    for (size_t i = 0; i < 16; i++) {
        w[i] = (uint32_t)octets[4 * i] << 24 | (uint32_t)octets[4 * i + 1] << 16 |
               (uint32_t)octets[4 * i + 2] << 8 | octets[4 * i + 3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t one = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + keys[i] + w[i];
        uint32_t two = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (size_t i = 0; i < 8; i++)
        state[i] += v[i];
}

static void sha256(slice text, unsigned char digest[32])
{
    uint32_t keys[64], state[8];
    uint64_t prime = 1;
    for (size_t i = 0; i < 64; i++) {
        prime = next_prime(prime);
        keys[i] = root_fraction(prime, 3);
        if (i < 8) state[i] = root_fraction(prime, 2);
    }
    size_t blocks = (text.len + 9 + 63) / 64;
    unsigned char *padded = calloc(blocks, 64);
    assert_non_null(padded);
    if (text.len) memcpy(padded, text.ptr, text.len);
    padded[text.len] = 0x80;
    for (size_t i = 0; i < 8; i++)
        padded[blocks * 64 - 1 - i] = (unsigned char)((uint64_t)text.len * 8 >> (8 * i));
    for (size_t i = 0; i < blocks; i++)
        sha256_block(state, padded + 64 * i, keys);
    for (size_t i = 0; i < 32; i++)
        digest[i] = (unsigned char)(state[i / 4] >> (24 - 8 * (i % 4)));
    free(padded);
}

// Base64 of 32 octets: 44 characters.
static void base64(const unsigned char digest[32], char text[45])
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < 11; i++) {
        uint32_t word = (uint32_t)digest[3 * i] << 16 | (uint32_t)digest[3 * i + 1] << 8;
        if (i < 10) word |= digest[3 * i + 2];
        for (size_t j = 0; j < 4; j++)
            text[4 * i + j] = alphabet[word >> (18 - 6 * j) & 63];
    }
    text[43] = '=';
    text[44] = 0;
}

static void test_sha256_of_the_standard(void **state)
{
    (void)state;
    unsigned char digest[32];
    char text[45];
    sha256(SKUA_SLICE("abc"), digest);
    base64(digest, text);
    assert_string_equal(text, "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
}

static void expect_allowed(const char *what, const char *octets)
{
    unsigned char digest[32];
    char text[45];
    sha256(slice_of(octets), digest);
    base64(digest, text);
    if (!strstr(listing_page_policy, text)) print_error("the hash of the %s is %s\n", what, text);
    assert_non_null(strstr(listing_page_policy, text));
}

static void test_policy_allows_the_style_and_the_script(void **state)
{
    (void)state;
    expect_allowed("style", listing_page_style);
    expect_allowed("script", listing_page_script);
    assert_non_null(strstr(listing_page_policy, "default-src 'none'"));
    assert_null(strstr(listing_page_policy, "unsafe"));
}

// ---- The page ----

// The page as a text.
static char *page_of(const listing *l, const listing_view *view)
{
    markup m = { 0 };
    listing_page.begin(l, view, &m);
    assert_int_equal(listing_page.write(l, view, 0, SIZE_MAX, &m), l->count);
    listing_page.end(view, &m);
    markup_put(&m, slice_make("", 1));
    assert_false(m.failed);
    return m.ptr;
}

static void add(listing *l, const char *name, skua_file_kind kind, uint64_t size)
{
    skua_file_info info = { .kind = kind, .size = size, .mtime_ns = 784111777000000000 };
    assert_true(listing_add(name, &info, l));
}

static void expect(const char *page, const char *piece)
{
    if (!strstr(page, piece)) print_error("missing: %s\n", piece);
    assert_non_null(strstr(page, piece));
}

static void test_page_of_a_folder(void **state)
{
    (void)state;
    listing l = { 0 };
    add(&l, "sub <1>", SKUA_FILE_DIRECTORY, 4096);
    add(&l, "a&b.txt", SKUA_FILE_REGULAR, 1234567);
    add(&l, "javascript:alert(1)", SKUA_FILE_REGULAR, 1);
    add(&l, "pipe", SKUA_FILE_OTHER, 0);
    add(&l, "back\\slash", SKUA_FILE_REGULAR, 0);
    listing_view view = { .path = SKUA_SLICE("/docs/x <y>/z/"), .prefix_len = 6 };
    char *page = page_of(&l, &view);
    expect(page, "<title>/docs/x &lt;y&gt;/z/</title>");
    expect(page,
           "<h1><a href=\"../../\"><bdi dir=\"ltr\">/docs/</bdi></a> <a href=\"../\">"
           "<bdi dir=\"ltr\">x &lt;y&gt;</bdi></a><span>/</span><bdi dir=\"ltr\">z</bdi></h1>");
    expect(page, "<p>1 folder, 3 files, 1.2 MB</p>");
    expect(page, "<a href=\"./sub%20%3C1%3E/\">");
    expect(page, "sub &lt;1&gt;/</bdi>");
    expect(page, "<a href=\"./a%26b.txt\">");
    expect(page, "<td title=\"1234567 octets\">1.2 MB</td><td><time "
                 "datetime=\"1994-11-06T08:49Z\">1994-11-06 08:49</time>");
    expect(page, "<a href=\"./javascript%3Aalert%281%29\">");
    expect(page, "<td title=\"1 octet\">1 B</td>");
    expect(page, "<a href=\"../\">");
    assert_null(strstr(page, "href=\"./pipe"));
    assert_null(strstr(page, "href=\"./back"));
    assert_null(strstr(page, "<y>"));
    free(page);
    listing_free(&l);
}

static void test_page_keeps_its_order_in_links(void **state)
{
    (void)state;
    listing l = { 0 };
    add(&l, "sub", SKUA_FILE_DIRECTORY, 0);
    listing_view view = {
        .path = SKUA_SLICE("/a/"), .prefix_len = 1, .sort = LISTING_BY_SIZE, .descending = true
    };
    char *page = page_of(&l, &view);
    expect(page, "<a href=\"./sub/?sort=size&amp;order=desc\">");
    expect(page, "<a href=\"../?sort=size&amp;order=desc\">");
    expect(page, "<th scope=\"col\"><a href=\"./\">Name</a></th>");
    expect(page, "<th scope=\"col\" aria-sort=\"descending\"><a "
                 "href=\"./?sort=size&amp;order=asc\">Size</a></th>");
    expect(page, "<a href=\"./?sort=time&amp;order=desc\">Modified (UTC)</a>");
    free(page);
    view.sort = LISTING_BY_NAME;
    view.descending = false;
    page = page_of(&l, &view);
    expect(page, "aria-sort=\"ascending\"><a href=\"./?sort=name&amp;order=desc\">Name</a>");
    expect(page, "<a href=\"./sub/\">");
    free(page);
    listing_free(&l);
}

static void test_page_of_a_search(void **state)
{
    (void)state;
    listing l = { .search = SKUA_SLICE("a\"<") };
    add(&l, "no", SKUA_FILE_REGULAR, 0);
    add(&l, "has A\"< in it", SKUA_FILE_REGULAR, 0);
    add(&l, "a\"", SKUA_FILE_REGULAR, 0);
    assert_int_equal(l.count, 1);
    listing_view view = {
        .path = SKUA_SLICE("/"), .prefix_len = 1, .sort = LISTING_BY_TIME, .search = l.search
    };
    char *page = page_of(&l, &view);
    expect(page, "name=\"search\"");
    expect(page, "value=\"a&quot;&lt;\"><input type=\"hidden\" name=\"sort\" value=\"time\">"
                 "<input type=\"hidden\" name=\"order\" value=\"asc\"></form>");
    expect(page, "<a href=\"./?search=a%22%3C\">Name</a>");
    expect(page, "<a href=\"./?search=a%22%3C&amp;sort=size&amp;order=desc\">Size</a>");
    free(page);
    listing_free(&l);
    l = (listing){ 0 };
    page = page_of(&l, &view);
    expect(page, "No name here has that in it.");
    free(page);
}

static void test_json_of_a_folder(void **state)
{
    (void)state;
    listing l = { .cut = true };
    add(&l, "sub", SKUA_FILE_DIRECTORY, 4096);
    add(&l, "a\"\\\n\xff.txt", SKUA_FILE_REGULAR, 12);
    add(&l, "pipe", SKUA_FILE_OTHER, 0);
    listing_view view = { .path = SKUA_SLICE("/d/"), .prefix_len = 1 };
    markup m = { 0 };
    listing_json.begin(&l, &view, &m);
    assert_int_equal(listing_json.write(&l, &view, 0, m.len + 1, &m), 1);
    view.follows = true;
    assert_int_equal(listing_json.write(&l, &view, 1, SIZE_MAX, &m), 3);
    listing_json.end(&view, &m);
    markup_put(&m, slice_make("", 1));
    assert_string_equal(
        m.ptr, "{\"path\":\"/d/\",\"cut\":true,\"entries\":["
               "{\"name\":\"sub\",\"type\":\"folder\",\"url\":\"./sub/\","
               "\"modified\":\"1994-11-06T08:49:37Z\"},\n"
               "{\"name\":\"a\\u0022\\u005c\\u000a\xef\xbf\xbd.txt\",\"type\":\"file\",\"size\":12,"
               "\"modified\":\"1994-11-06T08:49:37Z\"},\n"
               "{\"name\":\"pipe\",\"type\":\"other\"}]}\n");
    markup_free(&m);
    listing_free(&l);
}

static void test_page_of_nothing_at_the_root(void **state)
{
    (void)state;
    listing l = { 0 };
    listing_view view = { .path = SKUA_SLICE("/"), .prefix_len = 1 };
    char *page = page_of(&l, &view);
    expect(page, "<h1><bdi dir=\"ltr\">/</bdi></h1>");
    expect(page, "<p>0 folders, 0 files, 0 B</p>");
    expect(page, "This folder is empty.");
    assert_null(strstr(page, "../"));
    free(page);
}

static void test_page_says_that_it_is_cut(void **state)
{
    (void)state;
    listing l = { .cut = true };
    add(&l, "a", SKUA_FILE_REGULAR, 0);
    listing_view view = { .path = SKUA_SLICE("/"), .prefix_len = 1 };
    char *page = page_of(&l, &view);
    expect(page, "only the first 1 entries");
    free(page);
    listing_free(&l);
}

static void test_page_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t size;
        const char *text;
    } cases[] = {
        { 0, ">0 B<" },         { 999, ">999 B<" },         { 1000, ">1.0 KB<" },
        { 99949, ">99.9 KB<" }, { 99950, ">100 KB<" },      { 999499, ">999 KB<" },
        { 999500, ">1.0 MB<" }, { 5000000000, ">5.0 GB<" }, { UINT64_MAX, ">18.4 EB<" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        listing l = { 0 };
        add(&l, "a", SKUA_FILE_REGULAR, cases[i].size);
        listing_view view = { .path = SKUA_SLICE("/"), .prefix_len = 1 };
        char *page = page_of(&l, &view);
        expect(page, cases[i].text);
        free(page);
        listing_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256_of_the_standard),
        cmocka_unit_test(test_policy_allows_the_style_and_the_script),
        cmocka_unit_test(test_page_of_a_search),
        cmocka_unit_test(test_json_of_a_folder),
        cmocka_unit_test(test_page_of_a_folder),
        cmocka_unit_test(test_page_keeps_its_order_in_links),
        cmocka_unit_test(test_page_of_nothing_at_the_root),
        cmocka_unit_test(test_page_says_that_it_is_cut),
        cmocka_unit_test(test_page_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
