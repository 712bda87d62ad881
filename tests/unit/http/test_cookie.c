// SPDX-License-Identifier: MIT
//
// Set-Cookie: what is written, and what is refused.

#include "http/cookie.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define A_COOKIE .name = "a", .value = { "1", 1 }

typedef struct written_case {
    skua_cookie cookie;
    const char *text;
} written_case;

static const written_case written[] = {
    { { A_COOKIE }, "a=1" },
    { { .name = "a" }, "a=" },
    { { .name = "a", .value = { "\"b\"", 3 } }, "a=\"b\"" },
    { { .name = "a", .value = { "\"\"", 2 } }, "a=\"\"" },
    { { .name = "a", .value = { "b=c", 3 } }, "a=b=c" },
    { { .name = "a", .value = { "!#$%&'()*+-./:<=>?@[]^_`{|}~", 28 } },
      "a=!#$%&'()*+-./:<=>?@[]^_`{|}~" },
    { { A_COOKIE, .path = "/" }, "a=1; Path=/" },
    { { A_COOKIE, .path = "/x y" }, "a=1; Path=/x y" },
    { { A_COOKIE, .domain = "example.com" }, "a=1; Domain=example.com" },
    { { A_COOKIE, .domain = "a-b.c1" }, "a=1; Domain=a-b.c1" },
    { { A_COOKIE, .max_age_s = 60 }, "a=1; Max-Age=60" },
    { { A_COOKIE, .max_age_s = INT64_MAX }, "a=1; Max-Age=9223372036854775807" },
    { { A_COOKIE, .max_age_s = -1 }, "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT" },
    { { A_COOKIE, .secure = true }, "a=1; Secure" },
    { { A_COOKIE, .http_only = true }, "a=1; HttpOnly" },
    { { A_COOKIE, .same_site = SKUA_SAME_SITE_LAX }, "a=1; SameSite=Lax" },
    { { A_COOKIE, .same_site = SKUA_SAME_SITE_STRICT }, "a=1; SameSite=Strict" },
    { { A_COOKIE, .same_site = SKUA_SAME_SITE_NONE, .secure = true },
      "a=1; Secure; SameSite=None" },
    { { A_COOKIE, .partitioned = true, .secure = true }, "a=1; Secure; Partitioned" },
    { { .name = "__Host-a", .path = "/", .secure = true }, "__Host-a=; Path=/; Secure" },
    { { .name = "__Secure-a", .domain = "b.c", .secure = true },
      "__Secure-a=; Domain=b.c; Secure" },
    { { A_COOKIE, .path = "/p", .domain = "d", .max_age_s = -9, .secure = true, .http_only = true,
        .same_site = SKUA_SAME_SITE_STRICT, .partitioned = true },
      "a=1; Path=/p; Domain=d; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Secure; HttpOnly; SameSite=Strict; "
      "Partitioned" },
};

static void test_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        const skua_cookie *cookie = &written[i].cookie;
        assert_int_equal(cookie_check(cookie), SKUA_OK);
        char *out = malloc(cookie_room(cookie));
        assert_non_null(out);
        size_t len = cookie_write(cookie, out);
        assert_int_equal(len, strlen(written[i].text));
        assert_memory_equal(out, written[i].text, len);
        free(out);
    }
}

static const skua_cookie refused[] = {
    { .name = NULL },
    { .name = "" },
    { .name = "a b" },
    { .name = "a=b" },
    { .name = "a;" },
    { .name = "\xc3\xa9" },
    { .name = "a", .value = { " ", 1 } },
    { .name = "a", .value = { "\"", 1 } },
    { .name = "a", .value = { "\"b", 2 } },
    { .name = "a", .value = { "b\"c", 3 } },
    { .name = "a", .value = { "b,c", 3 } },
    { .name = "a", .value = { "b; Secure", 9 } },
    { .name = "a", .value = { "b\\c", 3 } },
    { .name = "a", .value = { "b\0c", 3 } },
    { .name = "a", .value = { "b\r\nX: 1", 7 } },
    { .name = "a", .value = { "\xc3\xa9", 2 } },
    { .name = "a", .value = { "\x7f", 1 } },
    { A_COOKIE, .path = "" },
    { A_COOKIE, .path = "x" },
    { A_COOKIE, .path = "/;" },
    { A_COOKIE, .path = "/\n" },
    { A_COOKIE, .path = "/ " },
    { A_COOKIE, .domain = "" },
    { A_COOKIE, .domain = ".a" },
    { A_COOKIE, .domain = "a..b" },
    { A_COOKIE, .domain = "a." },
    { A_COOKIE, .domain = "-a" },
    { A_COOKIE, .domain = "a-.b" },
    { A_COOKIE, .domain = "a;b" },
    { A_COOKIE, .domain = "a b" },
    { A_COOKIE, .same_site = SKUA_SAME_SITE_NONE },
    { A_COOKIE, .partitioned = true },
    { .name = "__Secure-a" },
    { .name = "__secure-a" },
    { .name = "__Host-a", .secure = true },
    { .name = "__Host-a", .path = "/" },
    { .name = "__Host-a", .secure = true, .path = "/x" },
    { .name = "__Host-a", .secure = true, .path = "/", .domain = "a" },
    { .name = "__HOST-a", .secure = true, .path = "/", .domain = "a" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (cookie_check(&refused[i]) != SKUA_EINVAL) fail_msg("case %zu is taken", i);
    }
}

// Each limit at its edge: the last that fits, and one more.
static void test_limits(void **state)
{
    (void)state;
    static char text[4200];
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(cookie_check(&(skua_cookie){ .name = "a", .value = { text, 4095 } }), SKUA_OK);
    assert_int_equal(cookie_check(&(skua_cookie){ .name = "a", .value = { text, 4096 } }),
                     SKUA_ELIMIT);
    assert_int_equal(cookie_check(&(skua_cookie){ .name = text }), SKUA_ELIMIT);
    text[1024] = 0;
    assert_int_equal(cookie_check(&(skua_cookie){ A_COOKIE, .domain = text }), SKUA_OK);
    text[0] = '/';
    assert_int_equal(cookie_check(&(skua_cookie){ A_COOKIE, .path = text }), SKUA_OK);
    text[1024] = 'x';
    text[1025] = 0;
    assert_int_equal(cookie_check(&(skua_cookie){ A_COOKIE, .path = text }), SKUA_ELIMIT);
    text[0] = 'x';
    assert_int_equal(cookie_check(&(skua_cookie){ A_COOKIE, .domain = text }), SKUA_ELIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
