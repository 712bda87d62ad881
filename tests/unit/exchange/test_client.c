// SPDX-License-Identifier: MIT
//
// Whom a handler is told that a request is from, behind a proxy that is trusted, and one that is not.

#include <skua/skua.h>

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

// The peer of skua_test_request.
#define PEER "192.0.2.1"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"

static void tell(skua_request *request, void *user)
{
    (void)user;
    char peer[64], short_peer[4];
    size_t len = skua_request_peer(request, peer, sizeof peer);
    assert_int_equal(len, strlen(peer));
    (void)skua_request_peer(request, short_peer, sizeof short_peer);
    assert_int_equal(strncmp(peer, short_peer, 3), 0);
    assert_int_equal(skua_request_peer(request, NULL, 0), 0);
    const char *scheme = skua_request_scheme(request);
    assert_int_equal(skua_request_is_secure(request), strcmp(scheme, "https") == 0);
    skua_respond_format(request, 200, "text/plain", "[%s %s]", peer, scheme);
}

static void tell_of_both(skua_request *request, void *user)
{
    char peer[64];
    (void)skua_connection_peer(skua_request_connection(request), peer, sizeof peer);
    assert_string_equal(peer, PEER);
    tell(request, user);
}

static void tell_id(skua_request *request, void *user)
{
    (void)user;
    skua_slice id = skua_request_id(request), again = skua_request_id(request);
    assert_non_null(id.ptr);
    assert_ptr_equal(id.ptr, again.ptr);
    assert_int_equal(id.len, again.len);
    bool made = id.len == 32 && !skua_slice_is(id, TRACE);
    if (made) {
        static char last[32];
        assert_int_equal(strspn(id.ptr, "0123456789abcdef"), 32);
        assert_memory_not_equal(last, id.ptr, 32);
        memcpy(last, id.ptr, 32);
        id = skua_slice_of("made");
    }
    skua_respond_format(request, 200, "text/plain", "[%" SKUA_FMT "]", SKUA_ARG(id));
}

static skua_status ask(const skua_config *config, const char *path, const char *fields,
                       const char *expected)
{
    char octets[512], wanted[64];
    skua_slice received = { 0 };
    skua_server *server = skua_server_new(config);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "GET /", tell_of_both, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /blocking", tell, NULL), SKUA_OK);
    assert_int_equal(skua_route(server, "GET /id", tell_id, NULL), SKUA_OK);
    assert_int_equal(skua_route_blocking(server, "GET /id/blocking", tell_id, NULL), SKUA_OK);
    (void)snprintf(octets, sizeof octets, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, fields);
    skua_status status = skua_test_request(server, skua_slice_of(octets), &received);
    if (!status) {
        (void)snprintf(wanted, sizeof wanted, "[%s]", expected);
        if (!strstr(received.ptr, wanted)) fail_msg("%s: not %s: %s", fields, wanted, received.ptr);
        skua_test_free(received);
    }
    skua_server_free(server);
    return status;
}

typedef struct client_case {
    skua_forwarded forwarded;
    const char *fields, *expected;
} client_case;

static const client_case cases[] = {
    { SKUA_FORWARDED_NONE,
      "Forwarded: for=203.0.113.1;proto=https\r\nX-Forwarded-For: 203.0.113.2\r\n", PEER " http" },
    { SKUA_FORWARDED_STANDARD, "", PEER " http" },
    { SKUA_FORWARDED_STANDARD, "Forwarded: for=203.0.113.1;proto=https\r\n", "203.0.113.1 https" },
    { SKUA_FORWARDED_STANDARD, "Forwarded: proto=https\r\n", "unknown https" },
    { SKUA_FORWARDED_STANDARD, "Forwarded: for=\"[2001:DB8::1]:1\"\r\n", "2001:db8::1 http" },
    { SKUA_FORWARDED_STANDARD, "Forwarded: for=_a\r\nfORWARDED: for=10.0.0.1\r\n", "_a http" },
    { SKUA_FORWARDED_STANDARD, "Forwarded: for=203.0.113.1\r\nForwarded: for=\r\n", PEER " http" },
    { SKUA_FORWARDED_STANDARD, "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-Proto: https\r\n",
      PEER " http" },
    { SKUA_FORWARDED_X,
      "X-Forwarded-For: 198.51.100.1, 203.0.113.1\r\nX-Forwarded-Proto: https\r\n",
      "203.0.113.1 https" },
    { SKUA_FORWARDED_X, "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: 10.0.0.1\r\n",
      "203.0.113.1 http" },
    { SKUA_FORWARDED_X,
      "X-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 203.0.113.1\r\n",
      "203.0.113.1 https" },
    { SKUA_FORWARDED_X, "X-Forwarded-Proto: https\r\n", PEER " https" },
    { SKUA_FORWARDED_X, "Forwarded: for=203.0.113.1;proto=https\r\n", PEER " http" },
};

static void a_trusted_proxy_names_its_client(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        skua_config config = { .trusted = PEER " 10.0.0.0/8", .forwarded = cases[i].forwarded };
        assert_int_equal(ask(&config, "/", cases[i].fields, cases[i].expected), SKUA_OK);
        assert_int_equal(ask(&config, "/blocking", cases[i].fields, cases[i].expected), SKUA_OK);
    }
}

static void others_name_nobody(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        skua_config config = { .trusted = "10.0.0.0/8 unix", .forwarded = cases[i].forwarded };
        assert_int_equal(ask(&config, "/", cases[i].fields, PEER " http"), SKUA_OK);
    }
}

typedef struct id_case {
    const char *fields, *trusted, *other;
} id_case;

static const id_case ids[] = {
    { "", "made", "made" },
    { "X-Request-Id: a-1\r\n", "a-1", "made" },
    { "X-Request-Id: a 1\r\n", "made", "made" },
    { "X-Request-Id: a\r\nX-Request-Id: b\r\n", "made", "made" },
    { "Traceparent: 00-" TRACE "-00f067aa0ba902b7-01\r\nX-Request-Id: a-1\r\n", TRACE, "made" },
    { "Traceparent: 00-" TRACE "-00f067aa0ba902b7-1\r\nX-Request-Id: a-1\r\n", "a-1", "made" },
};

static void a_trusted_proxy_names_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof ids / sizeof ids[0]; i++) {
        const id_case *c = &ids[i / 2];
        const char *path = i % 2 ? "/id/blocking" : "/id";
        skua_config trusting = { .trusted = PEER }, others = { .trusted = "10.0.0.0/8" };
        assert_int_equal(ask(&trusting, path, c->fields, c->trusted), SKUA_OK);
        assert_int_equal(ask(&others, path, c->fields, c->other), SKUA_OK);
    }
}

static void what_is_out_of_range_is_refused(void **state)
{
    (void)state;
    const skua_config wrong[] = {
        { .forwarded = SKUA_FORWARDED_X },
        { .trusted = "::1", .forwarded = (skua_forwarded)3 },
        { .trusted = "10.0.0.1/8", .forwarded = SKUA_FORWARDED_X },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(ask(&wrong[i], "/", "", ""), SKUA_EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_proxy_names_its_client),
        cmocka_unit_test(others_name_nobody),
        cmocka_unit_test(a_trusted_proxy_names_requests),
        cmocka_unit_test(what_is_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
