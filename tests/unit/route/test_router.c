// SPDX-License-Identifier: MIT
//
// The router: patterns that are refused, the order of precedence, hosts, Allow, and what finding
// costs.

#include "route/router.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void handle(skua_request *request, void *user)
{
    (void)request;
    (void)user;
}

static char why[512];

static skua_status add(router *r, const char *pattern)
{
    const router_desc desc = { .pattern = slice_of(pattern), .handler = handle };
    return router_add(r, &desc, why, sizeof why);
}

static router_outcome find_at(const router *r, const char *host, slice method, slice path,
                              router_match *match)
{
    return router_find(
        r, &(router_query){ .method = method, .authority = slice_of(host), .path = path }, match);
}

static router_outcome find(const router *r, slice method, slice path, router_match *match)
{
    return find_at(r, "", method, path, match);
}

static router *router_of(const char *const *patterns)
{
    router *r = router_new();
    assert_non_null(r);
    for (; *patterns; patterns++) {
        if (add(r, *patterns) != SKUA_OK) fail_msg("%s: %s", *patterns, why);
    }
    return r;
}

// ---- Patterns ----

static void test_router_takes_patterns(void **state)
{
    (void)state;
    static const char *const good[] = {
        "/",
        "/{$}",
        "/a",
        "/a/",
        "/a/{$}",
        "GET /a",
        "M-SEARCH /",
        "/{name}",
        "/{_n1}",
        "/{a}/{b}",
        "/{rest...}",
        "/a/{x}/b/{y...}",
        "example.com/",
        "GET example.com/a b",
        "{tenant}.example.com/{x}",
        "POST 127.0.0.1/",
        "[::1]/a",
        "a_b.c/",
        "/a b",
        "GET /a b",
        "/\xc3\xa9",
        "/.a",
        "/...",
        "/a:b",
        "/100%",
        "POST /{x}/{$}",
        "/a/b/c/d/",
        "GET /a%2Fb",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        router *r = router_new();
        if (add(r, good[i]) != SKUA_OK) fail_msg("%s: %s", good[i], why);
        router_free(r);
    }
}

static void test_router_refuses_patterns(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "a",
        "GET",
        "GET ",
        "GET  /",
        " /",
        "GET\t/",
        "G(T /",
        "*",
        "/a//b",
        "//",
        "/a/./b",
        "/a/..",
        "/..",
        "/{}",
        "/{",
        "/}",
        "/{a",
        "/a}",
        "/x{a}",
        "/{a}x",
        "/{a}{b}",
        "/{a...}/b",
        "/{$}/a",
        "/{...}",
        "/{a..}",
        "/{1a}",
        "/{a-b}",
        "/{a}/{a}",
        "/{a}/{a...}",
        "/a?b",
        "/a#b",
        "/a\tb",
        "/a\x7f",
        "/{a.}",
        "/{a}/{$",
        "http://x/",
        "/{ a}",
        "/{$...}",
        "a.b",
        "a..b/",
        ".a/",
        "a./",
        "a:80/",
        "{a}/",
        "{a}./",
        "{a}b.c/",
        "a.{b}.c/",
        "{a}.[::1]/",
        "{1}.b/",
        "[::1/",
        "GET a b/",
        "{a}.b/{a}",
        "a%20b/",
        "GET  a/",
        "{a/b}.c/",
        "{a}.b",
        "[]/",
        "\xc3\xa9.a/",
        "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}/{q}",
    };
    router *r = router_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = 0;
        if (add(r, bad[i]) != SKUA_EINVAL) fail_msg("%s: taken", bad[i]);
        assert_non_null(strstr(why, bad[i]));
    }
    router_match match;
    assert_int_equal(find(r, SKUA_SLICE("GET"), SKUA_SLICE("/"), &match), ROUTER_NO_PATH);
    router_free(r);
}

// A sentence about each mistake that other routers teach, with the spelling that is right here.
static void test_router_says_what_is_wrong(void **state)
{
    (void)state;
    static const char *const faults[][2] = {
        { "GET /a/:id", "\":id\" is no parameter: write \"{id}\"" },
        { "GET /a/*", "\"*\" is no parameter: write \"{name...}\" for everything below" },
        { "/a/*rest/b", "\"*rest\" is no parameter" },
        { "get /x", "\"get\" never comes: methods have upper case, as in \"GET /\"" },
        { "Post /x", "\"Post\" never comes" },
        { "GET|POST /m", "\"GET|POST\" is more than one method: add a route for each" },
        { "GET,POST /m", "more than one method" },
        { "(GET) /m", "\"(GET)\" is no method" },
        { "/{x}/{x}", "\"{x}\" comes twice: give each parameter a name of its own" },
        { "{x}.a/{x}", "\"{x}\" comes twice" },
        { "/{id}.json", "\"{id}.json\" is partly a parameter: a parameter is a whole segment" },
        { "/a-{id}", "\"a-{id}\" is partly a parameter" },
        { "/a//b", "\"//\" never comes in a path: write one \"/\"" },
        { "/{user-id}", "\"{user-id}\" has a name that is none" },
        { "/{rest...}/a", "\"{rest...}\" can only be the last segment" },
        { "/{$}/a", "\"{$}\" can only be the last segment" },
        { "/a?b={c}", "goes beyond the path" },
        { "/a?b", "skua_request_query_param" },
        { "/a/../b", "the segment \"..\" never comes in a normalised path" },
        { "a:80/", "\"a:80\" before the path is no host: write a name without port" },
        { "{a}/", "\"{a}\" before the path is no host" },
        { "GET", "is not \"[METHOD ][HOST]/PATH\"" },
    };
    router *r = router_new();
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_equal(add(r, faults[i][0]), SKUA_EINVAL);
        if (!strstr(why, faults[i][1])) fail_msg("%s: %s", faults[i][0], why);
    }
    // methods of one's own may have any case, and a literal may have ":" further on
    assert_int_equal(add(r, "purge /cache"), SKUA_OK);
    assert_int_equal(add(r, "POST /a:b"), SKUA_OK);
    router_free(r);
}

static void test_router_refuses_long_patterns(void **state)
{
    (void)state;
    static char pattern[5001];
    router *r = router_new();
    memset(pattern, 'x', 5000);
    pattern[0] = '/';
    assert_int_equal(add(r, pattern), SKUA_EINVAL);
    pattern[4096] = 0;
    assert_int_equal(add(r, pattern), SKUA_OK);
    for (size_t i = 0; i < 4096; i++)
        pattern[i] = i % 2 ? 'a' : '/';
    assert_int_equal(add(r, pattern), SKUA_EINVAL);
    pattern[2 * 64] = 0;
    assert_int_equal(add(r, pattern), SKUA_OK);
    router_free(r);
}

static void test_router_names_conflicts(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        { "/a", "/a" },
        { "GET /a", "GET /a" },
        { "GET /{x}", "GET /{y}" },
        { "/{x}/b/{y}", "/{u}/b/{v}" },
        { "/a/", "/a/{rest...}" },
        { "/{$}", "/{$}" },
        { "HEAD /a", "HEAD /a" },
        { "PUT /a", "PUT /a" },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        router *r = router_new();
        assert_int_equal(add(r, pairs[i][0]), SKUA_OK);
        assert_int_equal(add(r, pairs[i][1]), SKUA_EEXIST);
        char quoted[64];
        for (int k = 0; k < 2; k++) {
            (void)snprintf(quoted, sizeof quoted, "\"%s\"", pairs[i][k]);
            assert_non_null(strstr(why, quoted));
        }
        router_free(r);
    }
    static const char *const doubtful[][2] = {
        { "/a/{x}", "/{y}/b" },          { "GET /a/{x}", "/{y}/b" },
        { "HEAD /a/{x}", "GET /{y}/b" }, { "/a/", "/{x}/b" },
        { "/a/{x...}", "/{x}/{y}" },     { "/{x}/{$}", "/a/" },
        { "h.x/a/{x}", "H.X/{y}/b" },    { "{t}.x/a/{x}", "{u}.X/{y}/b" },
    };
    for (size_t i = 0; i < 2 * (sizeof doubtful / sizeof *doubtful); i++) {
        const char *const *pair = doubtful[i / 2];
        router *r = router_new();
        assert_int_equal(add(r, pair[i % 2]), SKUA_OK);
        assert_int_equal(add(r, pair[1 - i % 2]), SKUA_EEXIST);
        assert_non_null(strstr(why, pair[0]));
        assert_non_null(strstr(why, pair[1]));
        assert_non_null(strstr(why, "neither is more specific"));
        router_free(r);
    }
    static const char *const apart[] = { "/a",      "GET /a", "HEAD /a", "POST /a",     "PUT /a",
                                         "/a/",     "/a/{$}", "/a/{x}",  "GET /a/{x}/", "/{x}",
                                         "/{x...}", "/{$}",   NULL };
    router_free(router_of(apart));
}

// ---- Precedence ----

typedef struct find_case {
    const char *method, *path;
    const char *pattern; // or NULL, and then:
    const char *allow;   // NULL: no such path
    const char *values[3];
} find_case;

static void check_values(const find_case *c, const router_match *match)
{
    unsigned n = 0;
    for (; n < 3 && c->values[n]; n++) {
        assert_true(n < match->count);
        assert_true(slice_equal(match->values[n], slice_of(c->values[n])));
        const char *end = c->path + strlen(c->path);
        assert_true(match->values[n].ptr >= c->path && match->values[n].ptr <= end);
    }
    assert_int_equal(match->count, n);
    assert_int_equal(match->route->pattern.param_count, n);
}

static void check_find(const router *r, const find_case *c)
{
    router_match match;
    router_outcome outcome = find(r, slice_of(c->method), slice_of(c->path), &match);
    router_outcome expected = c->pattern ? ROUTER_FOUND
                              : c->allow ? ROUTER_NO_METHOD
                                         : ROUTER_NO_PATH;
    if (outcome != expected) fail_msg("%s %s: outcome %d", c->method, c->path, (int)outcome);
    if (c->pattern) {
        if (!slice_equal(match.route->pattern.text, slice_of(c->pattern))) {
            fail_msg("%s %s: %s", c->method, c->path, match.route->pattern.text.ptr);
        }
        check_values(c, &match);
    } else if (c->allow) {
        assert_true(slice_equal(slice_make(match.allow, match.allow_len), slice_of(c->allow)));
    }
}

static void test_router_finds_the_most_specific(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "/{$}",   "GET /a",        "POST /a",          "/a/",      "/a/{$}",     "/a/{x}",
        "/a/b",   "GET /a/{x}/c",  "/a/{x}/{rest...}", "/{any}/",  "GET /deep/", "HEAD /h",
        "GET /h", "BREW /pot/{$}", "DELETE /{any}",    "/m/{x}/y", "/m/lit/z",   "/f/{name}",
        NULL,
    };
    static const find_case cases[] = {
        { "GET", "/", "/{$}", NULL, { NULL } },
        { "BREW", "/", "/{$}", NULL, { NULL } },
        { "GET", "/a", "GET /a", NULL, { NULL } },
        { "HEAD", "/a", "GET /a", NULL, { NULL } },
        { "POST", "/a", "POST /a", NULL, { NULL } },
        { "DELETE", "/a", "DELETE /{any}", NULL, { "a" } },
        { "PUT", "/a", NULL, "DELETE, GET, HEAD, POST", { NULL } },
        { "get", "/a", NULL, "DELETE, GET, HEAD, POST", { NULL } },
        { "GET", "/a/", "/a/{$}", NULL, { NULL } },
        { "GET", "/a/b", "/a/b", NULL, { NULL } },
        { "GET", "/a/q", "/a/{x}", NULL, { "q" } },
        { "GET", "/a/%2F", "/a/{x}", NULL, { "%2F" } },
        { "GET", "/a/q/", "/a/{x}/{rest...}", NULL, { "q", "" } },
        { "GET", "/a/q/c", "GET /a/{x}/c", NULL, { "q" } },
        { "POST", "/a/q/c", NULL, "GET, HEAD", { NULL } },
        { "GET", "/a/q/c/d", "/a/{x}/{rest...}", NULL, { "q", "c/d" } },
        { "GET", "/a/b/c", "GET /a/{x}/c", NULL, { "b" } },
        { "GET", "/a//", "/a/", NULL, { NULL } },
        { "GET", "/z/b", "/{any}/", NULL, { "z" } },
        { "GET", "/z", NULL, "DELETE", { NULL } },
        { "GET", "/z/", "/{any}/", NULL, { "z" } },
        { "GET", "/deep/x/y", "GET /deep/", NULL, { NULL } },
        { "POST", "/deep/x/y", NULL, "GET, HEAD", { NULL } }, // "/{any}/" does not hide that
        { "HEAD", "/h", "HEAD /h", NULL, { NULL } },
        { "GET", "/h", "GET /h", NULL, { NULL } },
        { "PUT", "/h", NULL, "DELETE, GET, HEAD", { NULL } },
        { "GET", "/pot/", NULL, "BREW", { NULL } },
        { "GET", "/pot/x", "/{any}/", NULL, { "pot" } },
        { "GET", "/m/lit/y", "/m/{x}/y", NULL, { "lit" } },
        { "GET", "/m/lit/z", "/m/lit/z", NULL, { NULL } },
        { "GET", "/m/lit/x", "/{any}/", NULL, { "m" } },
        { "GET", "/f/", "/{any}/", NULL, { "f" } },
        { "GET", "/f/x", "/f/{name}", NULL, { "x" } },
        { "GET", "/A", NULL, "DELETE", { NULL } },
        { "GET", "*", NULL, NULL, { NULL } },
        { "GET", "", NULL, NULL, { NULL } },
    };
    router *r = router_of(patterns);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_find(r, &cases[i]);
    assert_int_equal(add(r, "PUT /deep/{x...}"), SKUA_OK);
    check_find(r, &(find_case){ "PUT", "/deep/a/b", "PUT /deep/{x...}", NULL, { "a/b" } });
    check_find(r, &(find_case){ "POST", "/deep/a/b", NULL, "GET, HEAD, PUT", { NULL } });
    router_free(r);
}

// A catch-all takes what has no route, and hides neither that a path has other methods nor a route of
// every method that is no catch-all.
static void test_router_catch_all_hides_no_405(void **state)
{
    (void)state;
    static const char *const patterns[] = { "/",        "GET /items",  "POST /items/{id}", "/a/{x}",
                                            "GET /a/b", "GET /files/", "h.test/{rest...}", NULL };
    static const find_case cases[] = {
        { "GET", "/items", "GET /items", NULL, { NULL } },
        { "POST", "/items", NULL, "GET, HEAD", { NULL } },
        { "GET", "/items/1", NULL, "POST", { NULL } },
        { "DELETE", "/other", "/", NULL, { NULL } },
        { "DELETE", "/items/1/2", "/", NULL, { NULL } },
        { "DELETE", "/a/b", "/a/{x}", NULL, { "b" } },
        { "POST", "/files/x", NULL, "GET, HEAD", { NULL } },
    };
    router *r = router_of(patterns);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_find(r, &cases[i]);
    router_match match;
    assert_int_equal(find_at(r, "h.test", SKUA_SLICE("POST"), SKUA_SLICE("/items"), &match),
                     ROUTER_FOUND);
    router_free(r);
}

static void check_host(const router *r, const char *host, const char *path, const char *pattern,
                       const char *label)
{
    router_match match;
    router_outcome outcome = find_at(r, host, SKUA_SLICE("GET"), slice_of(path), &match);
    assert_int_equal(outcome, pattern ? ROUTER_FOUND : ROUTER_NO_PATH);
    if (!pattern) return;
    if (!slice_equal(match.route->pattern.text, slice_of(pattern))) {
        fail_msg("%s%s: %s", host, path, match.route->pattern.text.ptr);
    }
    if (label) assert_true(slice_equal(match.values[0], slice_of(label)));
}

static void test_router_finds_by_host(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "/a",           "a.example.com/a", "{t}.example.com/a", "{t}.example.com/{x}/{rest...}",
        "example.com/", "[::1]/a",         "GET 127.0.0.1/a",   NULL,
    };
    router *r = router_of(patterns);
    check_host(r, "", "/a", "/a", NULL);
    check_host(r, "other", "/a", "/a", NULL);
    check_host(r, "a.example.com", "/a", "a.example.com/a", NULL);
    check_host(r, "A.Example.COM:8080", "/a", "a.example.com/a", NULL);
    check_host(r, "a.example.com.", "/a", "a.example.com/a", NULL);
    check_host(r, "B.example.com", "/a", "{t}.example.com/a", "B");
    check_host(r, "c.b.example.com", "/a", "/a", NULL);
    check_host(r, ".example.com", "/a", "/a", NULL);
    check_host(r, "a.example.com", "/b/c", "{t}.example.com/{x}/{rest...}", "a");
    check_host(r, "a.example.com", "/b", NULL, NULL);
    check_host(r, "example.com", "/a", "example.com/", NULL);
    check_host(r, "example.com", "/b/c", "example.com/", NULL);
    check_host(r, "[::1]:80", "/a", "[::1]/a", NULL);
    check_host(r, "127.0.0.1:80", "/a", "GET 127.0.0.1/a", NULL);
    router_match match;
    (void)find_at(r, "x.example.com:1", SKUA_SLICE("GET"), SKUA_SLICE("/b/c/d"), &match);
    assert_int_equal(match.count, 3);
    assert_true(slice_equal(match.values[0], SKUA_SLICE("x")));
    assert_true(slice_equal(match.values[1], SKUA_SLICE("b")));
    assert_true(slice_equal(match.values[2], SKUA_SLICE("c/d")));
    router_free(r);
}

static void test_router_states_allow_per_host(void **state)
{
    (void)state;
    static const char *const patterns[] = { "PUT /a", "GET h.x/a", "POST {t}.x/a", "DELETE h.y/a",
                                            NULL };
    static const char *const hosts[][2] = {
        { "h.x", "GET, HEAD, POST, PUT" },
        { "i.x", "POST, PUT" },
        { "h.y", "DELETE, PUT" },
        { "z", "PUT" },
        { "", "PUT" },
    };
    router *r = router_of(patterns);
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        router_match match;
        router_outcome outcome =
            find_at(r, hosts[i][0], SKUA_SLICE("BREW"), SKUA_SLICE("/a"), &match);
        assert_int_equal(outcome, ROUTER_NO_METHOD);
        assert_true(slice_equal(slice_make(match.allow, match.allow_len), slice_of(hosts[i][1])));
    }
    router_free(r);
}

static void test_router_knows_methods(void **state)
{
    (void)state;
    static const char *const some[] = { "GET /", "BREW /pot", NULL };
    router *r = router_of(some);
    assert_true(router_knows_method(r, SKUA_SLICE("GET")));
    assert_true(router_knows_method(r, SKUA_SLICE("HEAD")));
    assert_true(router_knows_method(r, SKUA_SLICE("BREW")));
    assert_false(router_knows_method(r, SKUA_SLICE("POST")));
    assert_false(router_knows_method(r, SKUA_SLICE("brew")));
    assert_int_equal(add(r, "/all"), SKUA_OK);
    assert_true(router_knows_method(r, SKUA_SLICE("POST")));
    router_free(r);
}

static void test_router_bounds_methods(void **state)
{
    (void)state;
    router *r = router_new();
    char pattern[32];
    for (int i = 0; i < ROUTE_METHODS_MAX; i++) {
        (void)snprintf(pattern, sizeof pattern, "METHOD-%02d /a", i);
        assert_int_equal(add(r, pattern), SKUA_OK);
    }
    assert_int_equal(add(r, "ONE-MORE /a"), SKUA_EINVAL);
    assert_non_null(strstr(why, "too many"));
    assert_int_equal(add(r, "METHOD-00 /b"), SKUA_OK);
    router_match match;
    assert_int_equal(find(r, SKUA_SLICE("GET"), SKUA_SLICE("/a"), &match), ROUTER_NO_METHOD);
    // Whole names only: 23 of nine octets, and commas between.
    assert_int_equal(match.allow_len, 23 * 9 + 22 * 2);
    assert_memory_equal(match.allow + match.allow_len - 9, "METHOD-22", 9);
    router_free(r);
}

// Steps are the nodes and children that a search looked at.
static unsigned steps_among(int routes, const char *path)
{
    router *r = router_new();
    char pattern[64];
    for (int i = 0; i < routes; i++) {
        (void)snprintf(pattern, sizeof pattern, "GET /route-%d/{id}/%d", i, i % 100);
        assert_int_equal(add(r, pattern), SKUA_OK);
        (void)snprintf(pattern, sizeof pattern, "POST host-%d.x/a/b", i);
        assert_int_equal(add(r, pattern), SKUA_OK);
    }
    assert_int_equal(add(r, "/{x...}"), SKUA_OK);
    router_match match;
    assert_true(find_at(r, "host-1.x", SKUA_SLICE("GET"), slice_of(path), &match) !=
                ROUTER_NO_PATH);
    router_free(r);
    return match.steps;
}

// The constant allows for neighbours in the tables, which are at most half full.
static void test_router_costs_the_path(void **state)
{
    (void)state;
    static const char *const paths[] = { "/", "/route-5/x/5", "/route-7/x", "/nowhere/at/all",
                                         "/a/b" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        unsigned few = steps_among(10, paths[i]), many = steps_among(10000, paths[i]);
        assert_true(many <= few + 8);
        assert_true(many < 32);
    }
}

static void test_router_finds_among_thousands(void **state)
{
    (void)state;
    router *r = router_new();
    char pattern[64], path[64];
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(pattern, sizeof pattern, "GET /route-%d/{id}", i);
        assert_int_equal(add(r, pattern), SKUA_OK);
    }
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(pattern, sizeof pattern, "GET /route-%d/{id}", i);
        (void)snprintf(path, sizeof path, "/route-%d/%d", i, i);
        check_find(r, &(find_case){ "GET", path, pattern, NULL, { strrchr(path, '/') + 1 } });
    }
    check_find(r, &(find_case){ "GET", "/route-5000/1", NULL, NULL, { NULL } });
    router_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_router_takes_patterns),
        cmocka_unit_test(test_router_refuses_patterns),
        cmocka_unit_test(test_router_says_what_is_wrong),
        cmocka_unit_test(test_router_refuses_long_patterns),
        cmocka_unit_test(test_router_names_conflicts),
        cmocka_unit_test(test_router_finds_the_most_specific),
        cmocka_unit_test(test_router_knows_methods),
        cmocka_unit_test(test_router_bounds_methods),
        cmocka_unit_test(test_router_costs_the_path),
        cmocka_unit_test(test_router_finds_among_thousands),
        cmocka_unit_test(test_router_catch_all_hides_no_405),
        cmocka_unit_test(test_router_finds_by_host),
        cmocka_unit_test(test_router_states_allow_per_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
