// SPDX-License-Identifier: MIT
//
// Requests as the server takes them, by its configuration, over the test bed.

#include <skua/skua.h>

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void on_hello(skua_request *request, void *user)
{
    (void)user;
    assert_int_equal(skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello")), SKUA_OK);
}

static int status_of(skua_server *server, const char *target)
{
    char octets[256];
    int len = snprintf(octets, sizeof octets, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", target);
    skua_slice answer;
    assert_int_equal(skua_test_request(server, (skua_slice){ octets, (size_t)len }, &answer),
                     SKUA_OK);
    assert_memory_equal(answer.ptr, "HTTP/1.1 ", 9);
    int status = (answer.ptr[9] - '0') * 100 + (answer.ptr[10] - '0') * 10 + answer.ptr[11] - '0';
    skua_test_free(answer);
    return status;
}

// ---- strict_target ----

static void test_request_strict_targets(void **state)
{
    (void)state;
    static const char *const of_browsers[] = { "/[1]",     "/a|b",   "/caf\xc3\xa9", "/?x=[1]",
                                               "/?x=100%", "/?a\\b", "/?\xc3\xa9" };
    static const char *const of_anybody[] = { "/", "/a/%5B1%5D?x=%7B1%7D&y=/?", "http://[::1]/a" };
    for (int strict = 0; strict < 2; strict++) {
        skua_server *server = skua_server_new(&(skua_config){ .strict_target = strict });
        assert_int_equal(skua_route(server, "/", on_hello, NULL), SKUA_OK);
        for (size_t i = 0; i < sizeof of_browsers / sizeof *of_browsers; i++)
            assert_int_equal(status_of(server, of_browsers[i]), strict ? 400 : 200);
        for (size_t i = 0; i < sizeof of_anybody / sizeof *of_anybody; i++)
            assert_int_equal(status_of(server, of_anybody[i]), 200);
        skua_server_free(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_strict_targets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
