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

// ---- The PROXY protocol ----

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n\x21\x11"
#define REQUEST                                                                                    \
    "GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=198.51.100.1;proto=https\r\n"                     \
    "X-Forwarded-For: 198.51.100.1\r\nConnection: close\r\n\r\n"

static bool refuse_all(skua_connection *connection, void *user)
{
    (void)user;
    char peer[64];
    (void)skua_connection_peer(connection, peer, sizeof peer);
    return strcmp(peer, "203.0.113.1") != 0;
}

static void count_closed(skua_connection *connection, void *user)
{
    (void)connection;
    ++*(unsigned *)user;
}

typedef struct proxied_case {
    const char *octets;
    size_t len;
    const char *expected; // NULL: there is no response
    unsigned closed;      // connections that on_close is told of
} proxied_case;

#define PROXIED(header, expected, closed)                                                          \
    { header REQUEST, sizeof(header REQUEST) - 1, expected, closed }

static const proxied_case proxied[] = {
    PROXIED("PROXY TCP4 203.0.113.2 10.0.0.1 4711 80\r\n", "[203.0.113.2 http]", 1),
    PROXIED("PROXY TCP6 2001:db8::1 ::1 4711 80\r\n", "[2001:db8::1 http]", 1),
    PROXIED("PROXY UNKNOWN\r\n", "[" PEER " http]", 1),
    PROXIED(SIGNATURE "\0\14\313\0\x71\2\12\0\0\1\0\1\0\1", "[203.0.113.2 http]", 1),
    PROXIED(SIGNATURE "\0\24\313\0\x71\2\12\0\0\1\0\1\0\1\x20\0\5\1\0\0\0\0", "[203.0.113.2 https]",
            1),
    PROXIED("PROXY TCP4 203.0.113.1 10.0.0.1 4711 80\r\n", NULL, 0), // by on_connect
    PROXIED("PROXY TCP4 203.0.113.2 10.0.0.1 4711\r\n", NULL, 0),
    PROXIED("", NULL, 0),
};

static void play_proxied(const proxied_case *c, const char *trusted, const char *expected,
                         unsigned closed)
{
    unsigned told = 0;
    skua_slice received = { 0 };
    skua_config config = { .trusted = trusted,
                           .forwarded = SKUA_FORWARDED_PROXY,
                           .on_connect = refuse_all,
                           .on_close = count_closed,
                           .hook_user = &told };
    skua_server *server = skua_server_new(&config);
    assert_non_null(server);
    assert_int_equal(skua_route(server, "GET /", tell, NULL), SKUA_OK);
    assert_int_equal(skua_test_request(server, (skua_slice){ c->octets, c->len }, &received),
                     SKUA_OK);
    if (expected) assert_non_null(strstr(received.ptr, expected));
    else assert_int_equal(received.len, 0);
    skua_test_free(received);
    skua_server_free(server);
    assert_int_equal(told, closed);
}

static void a_header_names_the_client(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof proxied / sizeof proxied[0]; i++) {
        const proxied_case *c = &proxied[i];
        play_proxied(c, PEER, c->expected, c->closed);
        play_proxied(c, "10.0.0.0/8 unix", NULL, 0);
    }
}

static void what_is_out_of_range_is_refused(void **state)
{
    (void)state;
    const skua_config wrong[] = {
        { .forwarded = SKUA_FORWARDED_X },
        { .forwarded = SKUA_FORWARDED_PROXY },
        { .trusted = "::1", .forwarded = (skua_forwarded)4 },
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
        cmocka_unit_test(a_header_names_the_client),
        cmocka_unit_test(what_is_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
