// SPDX-License-Identifier: MIT
//
// Request targets: what is refused, how the rest is split, and the one normal form of a path.

#include "http/target.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct target_case {
    const char *method, *text;
    target_form form;
    const char *authority, *path, *query; // NULL: {NULL, 0}
    bool clean;
} target_case;

static const target_case good[] = {
    { "GET", "/", TARGET_ORIGIN, NULL, "/", NULL, true },
    { "GET", "/a/b.html?x=1", TARGET_ORIGIN, NULL, "/a/b.html", "x=1", true },
    { "GET", "/?", TARGET_ORIGIN, NULL, "/", "", true },
    { "GET", "/a?b?c/d", TARGET_ORIGIN, NULL, "/a", "b?c/d", true },
    { "GET", "/a/", TARGET_ORIGIN, NULL, "/a/", NULL, true },
    { "GET", "/a:b@c!$&'()*+,;=-._~", TARGET_ORIGIN, NULL, "/a:b@c!$&'()*+,;=-._~", NULL, true },
    { "GET", "/.well-known/x", TARGET_ORIGIN, NULL, "/.well-known/x", NULL, true },
    { "GET", "/...", TARGET_ORIGIN, NULL, "/...", NULL, true },
    { "GET", "/a..", TARGET_ORIGIN, NULL, "/a..", NULL, true },
    { "GET", "/..a/b", TARGET_ORIGIN, NULL, "/..a/b", NULL, true },
    { "GET", "//", TARGET_ORIGIN, NULL, "//", NULL, false },
    { "GET", "//host/a", TARGET_ORIGIN, NULL, "//host/a", NULL, false },
    { "GET", "/a//b", TARGET_ORIGIN, NULL, "/a//b", NULL, false },
    { "GET", "/.", TARGET_ORIGIN, NULL, "/.", NULL, false },
    { "GET", "/..", TARGET_ORIGIN, NULL, "/..", NULL, false },
    { "GET", "/a/../b", TARGET_ORIGIN, NULL, "/a/../b", NULL, false },
    { "GET", "/a/./b", TARGET_ORIGIN, NULL, "/a/./b", NULL, false },
    { "GET", "/..?x", TARGET_ORIGIN, NULL, "/..", "x", false },
    { "GET", "/%41", TARGET_ORIGIN, NULL, "/%41", NULL, false },
    { "GET", "/a%2Fb", TARGET_ORIGIN, NULL, "/a%2Fb", NULL, false },
    { "GET", "/%41%42c%43/d", TARGET_ORIGIN, NULL, "/%41%42c%43/d", NULL, false },
    { "GET", "/?a=%20%00&b[]=1", TARGET_ORIGIN, NULL, "/", "a=%20%00&b[]=1", true },
    { "BREW", "/pot", TARGET_ORIGIN, NULL, "/pot", NULL, true },
    // Octets that browsers and curl leave as they are.
    { "GET", "/photo[1].jpg", TARGET_ORIGIN, NULL, "/photo[1].jpg", NULL, true },
    { "GET", "/a|b^c/{d}`?e|f^g{h}`[i]", TARGET_ORIGIN, NULL, "/a|b^c/{d}`", "e|f^g{h}`[i]", true },
    { "GET", "/\xc3\xa9/\xf0\x9f\x98\x80?\xe2\x82\xac", TARGET_ORIGIN, NULL,
      "/\xc3\xa9/\xf0\x9f\x98\x80", "\xe2\x82\xac", true },
    { "GET", "/|//^", TARGET_ORIGIN, NULL, "/|//^", NULL, false },
    { "GET", "/|%7C", TARGET_ORIGIN, NULL, "/|%7C", NULL, false },
    { "GET", "/|/..", TARGET_ORIGIN, NULL, "/|/..", NULL, false },
    { "GET", "/?x=100%", TARGET_ORIGIN, NULL, "/", "x=100%", true },
    { "GET", "/?%&a=%4&b=%zz%%41", TARGET_ORIGIN, NULL, "/", "%&a=%4&b=%zz%%41", true },
    { "GET", "/?c:\\d", TARGET_ORIGIN, NULL, "/", "c:\\d", true },
    { "GET", "http://a/[1]?{", TARGET_ABSOLUTE, "a", "/[1]", "{", true },

    { "GET", "http://example.com/", TARGET_ABSOLUTE, "example.com", "/", NULL, true },
    { "GET", "http://example.com", TARGET_ABSOLUTE, "example.com", "/", NULL, true },
    { "GET", "http://example.com?x", TARGET_ABSOLUTE, "example.com", "/", "x", true },
    { "GET", "HTTPS://EXAMPLE.com:8080/a//b?c", TARGET_ABSOLUTE, "EXAMPLE.com:8080", "/a//b", "c",
      false },
    { "GET", "http://[::1]:80/x", TARGET_ABSOLUTE, "[::1]:80", "/x", NULL, true },
    { "OPTIONS", "http://example.com", TARGET_ABSOLUTE, "example.com", "/", NULL, true },

    { "OPTIONS", "*", TARGET_ASTERISK, NULL, "*", NULL, true },
    { "OPTIONS", "/", TARGET_ORIGIN, NULL, "/", NULL, true },
    { "CONNECT", "example.com:443", TARGET_AUTHORITY, "example.com:443", NULL, NULL, true },
    { "CONNECT", "[2001:db8::1]:1", TARGET_AUTHORITY, "[2001:db8::1]:1", NULL, NULL, true },
    { "CONNECT", "10.0.0.1:65535", TARGET_AUTHORITY, "10.0.0.1:65535", NULL, NULL, true },
    { "connect", "/", TARGET_ORIGIN, NULL, "/", NULL, true },
};

static const struct {
    const char *method, *text;
} bad[] = {
    { "GET", "" },
    { "GET", "a" },
    { "GET", "?x" },
    { "GET", "*" },
    { "options", "*" },
    { "OPTIONS", "**" },
    { "OPTIONS", "*?" },
    { "GET", "/#" },
    { "GET", "/a#b" },
    { "GET", "/?a#b" },
    { "GET", "http://example.com#a" },
    { "GET", "/a b" },
    { "GET", "/a\tb" },
    { "GET", "/\x01" },
    { "GET", "/\x7f" },
    { "GET", "/a\\b" },
    { "GET", "/a\"" },
    { "GET", "/<" },
    { "GET", "/>" },
    { "GET", "/?a\"" },
    { "GET", "/?<" },
    { "GET", "/?>" },
    { "GET", "/? " },
    { "GET", "/?\x7f" },
    { "GET", "/|\\" },
    { "GET", "/|%" },
    { "GET", "/\xc3" },
    { "GET", "/\xc3/\xa9" },
    { "GET", "/\xc3?\xa9" },
    { "GET", "/\xc0\xaf" },
    { "GET", "/\xed\xa0\x80" },
    { "GET", "/\xff" },
    { "GET", "/?\xff" },
    { "GET", "/?\xc3&\xa9" },
    { "GET", "/?a=\xf4\x90\x80\x80" },
    { "GET", "http://\xc3\xa9.example/" },
    { "GET", "/%" },
    { "GET", "/%4" },
    { "GET", "/%4?1" },
    { "GET", "/%4/1" },
    { "GET", "/%g1" },
    { "GET", "/%1g" },
    { "GET", "/%%41" },
    { "GET", "/%41%4" },
    { "GET", "/%00" },
    { "GET", "/a%00.html" },
    { "GET", "/%41%00" },
    { "GET", "example.com:80" },
    { "GET", "example.com" },
    { "GET", "http:" },
    { "GET", "http:/" },
    { "GET", "http://" },
    { "GET", "http:///a" },
    { "GET", "http://?a" },
    { "GET", "http://:80/" },
    { "GET", "http://user@example.com/" },
    { "GET", "http://user:pass@example.com/" },
    { "GET", "http://@example.com/" },
    { "GET", "http://example.com:x/" },
    { "GET", "http://exam ple.com/" },
    { "GET", "http://[::1/" },
    { "GET", "http://::1/" },
    { "GET", "http://example.com\\a/" },
    { "GET", "ftp://example.com/" },
    { "GET", "httpx://example.com/" },
    { "GET", "file:///etc/passwd" },
    { "CONNECT", "/" },
    { "CONNECT", "*" },
    { "CONNECT", "" },
    { "CONNECT", "example.com" },
    { "CONNECT", "example.com:" },
    { "CONNECT", "example.com:0" },
    { "CONNECT", "example.com:65536" },
    { "CONNECT", "example.com:123456" },
    { "CONNECT", "example.com:000080" },
    { "CONNECT", "example.com:4x" },
    { "CONNECT", ":443" },
    { "CONNECT", "443" },
    { "CONNECT", "user@example.com:443" },
    { "CONNECT", "http://example.com:443" },
    { "CONNECT", "http://example.com:443/" },
    { "CONNECT", "[::1]" },
    { "CONNECT", "example.com:443/" },
};

static bool is(slice s, const char *expected)
{
    return expected ? s.ptr && slice_equal(s, slice_of(expected)) : !s.ptr && !s.len;
}

static void test_target_is_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        const target_case *c = &good[i];
        char *text = GUARDED_TEXT(c->text);
        target t;
        fault f = target_parse(slice_of(c->method), slice_make(text, strlen(c->text)), false, &t);
        bool right = f.status == 0 && t.form == c->form && is(t.authority, c->authority) &&
                     is(t.raw_path, c->path) && is(t.query, c->query) && t.clean == c->clean;
        if (!right) print_error("%s %s: %d %s\n", c->method, c->text, f.status, f.reason);
        assert_true(right);
        guarded_free(text, strlen(c->text));
    }
}

static void test_target_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *text = GUARDED_TEXT(bad[i].text);
        target t;
        fault f =
            target_parse(slice_of(bad[i].method), slice_make(text, strlen(bad[i].text)), false, &t);
        if (f.status != 400) print_error("%s %s: %d\n", bad[i].method, bad[i].text, f.status);
        assert_int_equal(f.status, 400);
        assert_int_equal(f.scope, FAULT_REQUEST);
        assert_true(f.reason[0]);
        guarded_free(text, strlen(bad[i].text));
    }
}

// Octet by octet against the grammars: RFC 3986 §3.3 and §3.4, and what else is taken unless it is
// strict. A single octet beyond ASCII is no UTF-8.
static void test_target_takes_just_its_octets(void **state)
{
    (void)state;
    static const char pchars[] = "-._~!$&'()*+,;=:@", raw[] = "|[]{}^`";
    for (int octet = 1; octet < 256; octet++) {
        bool alnum = (octet >= '0' && octet <= '9') || (octet >= 'a' && octet <= 'z') ||
                     (octet >= 'A' && octet <= 'Z');
        bool pchar = alnum || strchr(pchars, octet);
        for (int strict = 0; strict < 2; strict++) {
            char text[] = { '/', 'a', (char)octet, 'b' };
            bool more = !strict && strchr(raw, octet);
            target t;
            fault f = target_parse(slice_of("GET"), slice_make(text, 4), strict, &t);
            assert_int_equal(f.status == 0, pchar || more || octet == '/' || octet == '?');
            text[1] = '?';
            more = more || (!strict && (octet == '\\' || octet == '%'));
            f = target_parse(slice_of("GET"), slice_make(text, 4), strict, &t);
            assert_int_equal(f.status == 0, pchar || more || octet == '/' || octet == '?');
        }
    }
    target t;
    assert_int_equal(target_parse(slice_of("GET"), slice_make("/\0", 2), false, &t).status, 400);
    assert_int_equal(target_parse(slice_of("GET"), slice_make("/?\0", 3), false, &t).status, 400);
}

static void test_target_strict_is_the_letter(void **state)
{
    (void)state;
    static const char *const taken[] = { "/a%20b/%7C?c=%5B1%5D&d=/?", "http://[::1]:80/a?b",
                                         "/%C3%A9?%00" };
    static const char *const refused[] = { "/[",    "/|",        "/?[]",       "/?a=%",
                                           "/?%4g", "/\xc3\xa9", "/?\xc3\xa9", "/?a\\" };
    target t;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        assert_int_equal(target_parse(slice_of("GET"), slice_of(taken[i]), true, &t).status, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(target_parse(slice_of("GET"), slice_of(refused[i]), true, &t).status, 400);
}

static void test_target_without_path_needs_no_text(void **state)
{
    (void)state;
    target t;
    assert_int_equal(target_parse(slice_of("GET"), slice_of("http://a"), false, &t).status, 0);
    char out[2];
    bool plain;
    assert_int_equal(target_normalise(t.raw_path, out, &plain), 1);
    assert_int_equal(out[0], '/');
    assert_true(plain);
}

static const struct {
    const char *raw, *normal;
    bool plain;
} forms[] = {
    { "/", "/", true },
    { "/a", "/a", true },
    { "/a/", "/a/", true },
    { "//", "/", true },
    { "///a", "/a", true },
    { "/a//b///c//", "/a/b/c/", true },
    { "/.", "/", true },
    { "/./", "/", true },
    { "/..", "/", true },
    { "/../..", "/", true },
    { "/../a", "/a", true },
    { "/a/.", "/a/", true },
    { "/a/..", "/", true },
    { "/a/../", "/", true },
    { "/a/b/..", "/a/", true },
    { "/a/b/../c", "/a/c", true },
    { "/a/b/../../c", "/c", true },
    { "/a/b/../../../c", "/c", true },
    { "/a/./b/./c/./", "/a/b/c/", true },
    { "/a//../b", "/b", true },
    { "/a/b//..//c", "/a/c", true },
    { "/...", "/...", true },
    { "/a/.../b", "/a/.../b", true },
    { "/.a/..b/c.", "/.a/..b/c.", true },
    { "/mid/content=5/../6", "/mid/6", true },
    { "/%41%62", "/Ab", true },
    { "/%2e", "/", true },
    { "/a/%2e%2E/b", "/b", true },
    { "/a/.%2e/b", "/b", true },
    { "/a/%2e./b", "/b", true },
    { "/a/%2e%2e", "/", true },
    { "/%2e%2e%2e", "/...", true },
    { "/%252e%252e/a", "/%2e%2e/a", true },
    { "/%25", "/%", true },
    { "/%2541", "/%41", true },
    { "/%20%3F%23", "/ ?#", true },
    { "/%c3%a9", "/\xc3\xa9", true },
    { "/%0d%0a", "/\r\n", true },
    { "/%ff", "/\xff", true },
    { "/a%2Fb", "/a%2Fb", false },
    { "/a%2fb", "/a%2Fb", false },
    { "/%2f", "/%2F", false },
    { "/%2f..", "/%2F..", false },
    { "/a/..%2f..", "/a/..%2F..", false },
    { "/%2F/../a", "/a", false },
    { "/a%5Cb", "/a\\b", false },
    { "/..%5c..", "/..\\..", false },
    { "/%252F", "/%2F", true },
    { "/|", "/|", true },
    { "/%7C", "/|", true },
    { "/photo%5B1].jpg", "/photo[1].jpg", true },
    { "/\xc3\xa9", "/\xc3\xa9", true },
    { "/caf\xc3\xa9%20/../{", "/{", true },
};

static void test_target_normal_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        size_t raw_len = strlen(forms[i].raw);
        char *raw = GUARDED_TEXT(forms[i].raw);
        char *out = guarded_copy(forms[i].raw, raw_len + 1); // just the room that is promised
        target t;
        assert_int_equal(target_parse(slice_of("GET"), slice_make(raw, raw_len), false, &t).status,
                         0);
        bool plain;
        slice normal = slice_make(out, target_normalise(t.raw_path, out, &plain));
        bool right = is(normal, forms[i].normal) && plain == forms[i].plain;
        if (!right) print_error("%s: %.*s\n", forms[i].raw, (int)normal.len, normal.ptr);
        assert_true(right);
        assert_true(!t.clean || (plain && slice_equal(normal, t.raw_path)));
        guarded_free(out, raw_len + 1);
        guarded_free(raw, raw_len);
    }
}

static void test_target_asterisk_has_no_other_form(void **state)
{
    (void)state;
    char out[2];
    bool plain;
    assert_int_equal(target_normalise(slice_of("*"), out, &plain), 1);
    assert_int_equal(out[0], '*');
    assert_int_equal(target_normalise(slice_make(NULL, 0), out, &plain), 0);
}

static const struct {
    const char *path, *encoded;
} encodings[] = {
    { "/", "/" },
    { "", "/" },
    { "a", "/a" },
    { "//host/a", "/host/a" },
    { "///", "/" },
    { "/a/b/", "/a/b/" },
    { "/a:b@c!$&'()*+,;=-._~", "/a:b@c!$&'()*+,;=-._~" },
    { "/ ?#%", "/%20%3F%23%25" },
    { "/\r\n", "/%0D%0A" },
    { "/\\host", "/%5Chost" },
    { "\\\\host", "/%5C%5Chost" },
    { "/\xc3\xa9", "/%C3%A9" },
    { "/\"<>[]^`{|}", "/%22%3C%3E%5B%5D%5E%60%7B%7C%7D" },
};

static void test_target_encodings(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        size_t len = strlen(encodings[i].path);
        static const char room[128];
        char *path = GUARDED_TEXT(encodings[i].path);
        char *out = guarded_copy(room, 3 * len + 1);
        size_t n = target_encode(slice_make(path, len), out);
        assert_true(is(slice_make(out, n), encodings[i].encoded));
        guarded_free(out, 3 * len + 1);
        guarded_free(path, len);
    }
}

static const struct {
    const char *text, *escaped;
} escapes[] = {
    { "", "" },
    { "/a/b?c=d%20e#f", "/a/b?c=d%20e#f" },
    { "x[1]=a|b&y={\"z\": 1}", "x%5B1%5D=a%7Cb&y=%7B%22z%22:%201%7D" },
    { "100%&%4&%zz&%%41", "100%25&%254&%25zz&%25%41" },
    { "\xc3\xa9\\^`", "%C3%A9%5C%5E%60" },
    { "/\\host", "/%5Chost" },
    { "/a\r\nb", "/a%0D%0Ab" },
    { "https://[2001:db8::1]:8080/[1]?[2]", "https://[2001:db8::1]:8080/%5B1%5D?%5B2%5D" },
    { "http://[::1]", "http://[::1]" },
    { "[::1]:443", "[::1]:443" },
    { "/http://[::1]/", "/http://%5B::1%5D/" },
    { "?u=http://[::1]/", "?u=http://%5B::1%5D/" },
    { "a[1]/b", "a%5B1%5D/b" },
    { "*", "*" },
};

static void test_target_escapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        size_t len = strlen(escapes[i].text), used = 77;
        static const char room[256];
        char *text = GUARDED_TEXT(escapes[i].text);
        char *out = guarded_copy(room, 3 * len);
        size_t n = target_escape(slice_make(text, len), out, 3 * len, &used);
        assert_true(is(slice_make(out, n), escapes[i].escaped));
        assert_int_equal(used, len);
        guarded_free(out, 3 * len);
        guarded_free(text, len);
    }
}

// Text that does not fit is left out at the edge of an octet, so that the rest can follow.
static void test_target_escapes_in_parts(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("a|b|");
    char out[8];
    size_t used;
    assert_int_equal(target_escape(text, out, 2, &used), 0);
    assert_int_equal(used, 0);
    assert_int_equal(target_escape(text, out, 6, &used), 4);
    assert_int_equal(used, 2);
    assert_memory_equal(out, "a%7C", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_is_split),
        cmocka_unit_test(test_target_is_refused),
        cmocka_unit_test(test_target_takes_just_its_octets),
        cmocka_unit_test(test_target_without_path_needs_no_text),
        cmocka_unit_test(test_target_normal_forms),
        cmocka_unit_test(test_target_asterisk_has_no_other_form),
        cmocka_unit_test(test_target_encodings),
        cmocka_unit_test(test_target_strict_is_the_letter),
        cmocka_unit_test(test_target_escapes),
        cmocka_unit_test(test_target_escapes_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
