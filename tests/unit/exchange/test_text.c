// SPDX-License-Identifier: MIT
//
// Text for handlers: slices, formats, and parameters that are numbers.

#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_slices(void **state)
{
    (void)state;
    assert_int_equal(skua_slice_of("").len, 0);
    skua_slice s = skua_slice_of("abc");
    assert_int_equal(s.len, 3);
    assert_true(skua_slice_is(s, "abc") && skua_slice_starts(s, "") && skua_slice_starts(s, "ab"));
    assert_false(skua_slice_is(s, "ab") || skua_slice_is(s, "abcd") || skua_slice_is(s, "abd"));
    assert_false(skua_slice_starts(s, "abcd") || skua_slice_starts(s, "b"));
    skua_slice none = { NULL, 0 };
    assert_true(skua_slice_is(none, "") && skua_slice_starts(none, ""));
    assert_false(skua_slice_is(none, "a") || skua_slice_starts(none, "a"));
    skua_slice part = { "abcdef", 2 };
    assert_false(skua_slice_starts(part, "abc"));
    char text[32];
    (void)snprintf(text, sizeof text, "<%" SKUA_FMT "|%" SKUA_FMT ">", SKUA_ARG(part),
                   SKUA_ARG(none));
    assert_string_equal(text, "<ab|>");
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "0", 0 },
                 { "-0", 0 },
                 { "007", 7 },
                 { "-12", -12 },
                 { "9223372036854775807", INT64_MAX },
                 { "-9223372036854775808", INT64_MIN } };
    static const char *const bad[] = { "",
                                       "-",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1x",
                                       "0x1",
                                       "--1",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "18446744073709551616",
                                       "99999999999999999999999" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 5;
        assert_true(skua_slice_i64(skua_slice_of(good[i].text), &value));
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 5;
        assert_false(skua_slice_i64(skua_slice_of(bad[i]), &value));
        assert_true(value == 5);
    }
    int64_t value = 5;
    assert_false(skua_slice_i64((skua_slice){ NULL, 0 }, &value));
    assert_true(skua_slice_i64((skua_slice){ "123", 2 }, &value) && value == 12);
}

static void handle_number(skua_request *request, void *user)
{
    (void)user;
    int64_t id, page;
    if (!skua_request_param_i64(request, "id", 1, 1000, &id)) return;
    if (!skua_request_query_i64(request, "page", 1, 0, 99, &page)) return;
    skua_respond_format(request, 200, NULL, "%lld %lld", (long long)id, (long long)page);
}

static void handle_long(skua_request *request, void *user)
{
    (void)user;
    int64_t n;
    if (!skua_request_param_i64(request, "n", 0, 100000, &n)) return;
    skua_respond_format(request, 201, "text/css", "%0*d", (int)n, 7);
}

static bool answers(skua_server *server, const char *path, const char *begins, const char *ends)
{
    char wire[200];
    int len = snprintf(wire, sizeof wire, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
    skua_slice received;
    assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                     SKUA_OK);
    size_t n = strlen(ends);
    bool right = skua_slice_starts(received, begins) && received.len >= n &&
                 memcmp(received.ptr + received.len - n, ends, n) == 0;
    if (!right) print_error("%s: %s\n", path, received.ptr);
    skua_test_free(received);
    return right;
}

static void test_parameters_that_are_numbers(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "GET /n/{id}", handle_number, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /b/{id}", handle_number, NULL), SKUA_OK);
    static const char *const paths[] = { "n", "b" };
    for (size_t i = 0; i < 2; i++) {
        static const struct {
            const char *rest, *begins, *ends;
        } cases[] = {
            { "7", "HTTP/1.1 200", "\r\n\r\n7 1" },
            { "1000?page=99", "HTTP/1.1 200", "\r\n\r\n1000 99" },
            { "1?page=0", "HTTP/1.1 200", "\r\n\r\n1 0" },
            { "0", "HTTP/1.1 400", "id is to be a whole number from 1 to 1000.\n" },
            { "1001", "HTTP/1.1 400", "id is to be a whole number from 1 to 1000.\n" },
            { "x", "HTTP/1.1 400", "id is to be a whole number from 1 to 1000.\n" },
            { "7?page=", "HTTP/1.1 400", "page is to be a whole number from 0 to 99.\n" },
            { "7?page=100", "HTTP/1.1 400", "page is to be a whole number from 0 to 99.\n" },
        };
        for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
            char path[64];
            (void)snprintf(path, sizeof path, "/%s/%s", paths[i], cases[j].rest);
            assert_true(answers(server, path, cases[j].begins, cases[j].ends));
        }
    }
    skua_server_free(server);
}

static void test_formats_of_any_length(void **state)
{
    (void)state;
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "GET /long/{n}", handle_long, NULL), SKUA_OK);
    for (unsigned n = 1022; n <= 1026; n++) {
        char path[32], ends[64];
        (void)snprintf(path, sizeof path, "/long/%u", n);
        (void)snprintf(ends, sizeof ends, "%050d", 7);
        assert_true(answers(server, path, "HTTP/1.1 201", ends));
        (void)snprintf(ends, sizeof ends, "Content-Length: %u\r\n", n);
        char wire[100];
        int len = snprintf(wire, sizeof wire, "HEAD %s HTTP/1.1\r\nHost: a\r\n\r\n", path);
        skua_slice received;
        assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                         SKUA_OK);
        assert_non_null(strstr(received.ptr, ends));
        assert_non_null(strstr(received.ptr, "Content-Type: text/css\r\n"));
        skua_test_free(received);
    }
    assert_true(answers(server, "/long/100000", "HTTP/1.1 201", "00000007"));
    skua_server_free(server);
}

// ---- Forms ----

static void tell_form(skua_request *request, void *user)
{
    (void)user;
    skua_slice name = skua_form(request, "name"), empty = skua_form(request, "empty");
    skua_slice none = skua_form(request, "none");
    (void)skua_respond_format(request, 200, NULL, "<%" SKUA_FMT "> %s %s", SKUA_ARG(name),
                              empty.ptr ? "there" : "absent", none.ptr ? "there" : "absent");
}

static void collect_form(skua_request *request, skua_status status, skua_slice content, void *user)
{
    (void)content;
    if (status == SKUA_OK) tell_form(request, user);
}

static void begin_form(skua_request *request, void *user)
{
    assert_null(skua_form(request, "name").ptr); // nothing is there yet
    if (skua_content_collect(request, 0, collect_form, user))
        (void)skua_respond_error(request, 500);
}

static void test_forms(void **state)
{
    (void)state;
    static const struct {
        const char *type, *told;
    } forms[] = {
        { "application/x-www-form-urlencoded", "<a b&> there absent" },
        { "Application/X-WWW-Form-Urlencoded; charset=utf-8", "<a b&> there absent" },
        { "application/x-www-form-urlencodedx", "<> absent absent" },
        { "text/plain", "<> absent absent" },
    };
    skua_server *server = skua_server_new(NULL);
    assert_int_equal(skua_route(server, "POST /collect", begin_form, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "POST /block", tell_form, NULL), SKUA_OK);
    for (size_t i = 0; i < 2 * sizeof forms / sizeof *forms; i++) {
        char wire[300];
        skua_slice received;
        int len = snprintf(wire, sizeof wire,
                           "POST /%s HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\n"
                           "Content-Length: 26\r\n\r\nempty=&name=a+b%%26&name=two",
                           i % 2 ? "collect" : "block", forms[i / 2].type);
        assert_int_equal(skua_test_request(server, (skua_slice){ wire, (size_t)len }, &received),
                         SKUA_OK);
        if (!strstr(received.ptr, forms[i / 2].told)) fail_msg("%s\n%s", wire, received.ptr);
        skua_test_free(received);
    }
    skua_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_parameters_that_are_numbers),
        cmocka_unit_test(test_formats_of_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
