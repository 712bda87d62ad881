// SPDX-License-Identifier: MIT
//
// The router: patterns that are refused, the order of precedence, Allow, and a comparison with a matcher
// that looks at every pattern of a list.

#include "server/router.h"

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
    return router_add(r, slice_of(pattern), handle, NULL, why, sizeof why);
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
        "/",          "/{$}",          "/a",        "/a/",       "/a/{$}",     "GET /a",
        "M-SEARCH /", "/{name}",       "/{_n1}",    "/{a}/{b}",  "/{rest...}", "/a/{x}/b/{y...}",
        "/a b",       "GET /a b",      "/\xc3\xa9", "/.a",       "/...",       "/a:b",
        "/100%",      "POST /{x}/{$}", "/a/b/c/d/", "GET /a%2Fb",
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
        "",          "a",        "GET",       "GET ",          "GET  /",      " /",         "GET\t/",
        "G(T /",     "*",        "/a//b",     "//",            "/a/./b",      "/a/..",      "/..",
        "/{}",       "/{",       "/}",        "/{a",           "/a}",         "/x{a}",      "/{a}x",
        "/{a}{b}",   "/{a...}/b", "/{$}/a",   "/{...}",        "/{a..}",      "/{1a}",      "/{a-b}",
        "/{a}/{a}",  "/{a}/{a...}", "/a?b",   "/a#b",          "/a\tb",       "/a\x7f",     "/{a.}",
        "/{a}/{$",   "http://x/", "/{ a}",    "/{$...}",
        "/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}/{q}",
    };
    router *r = router_new();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why[0] = 0;
        if (add(r, bad[i]) != SKUA_EINVAL) fail_msg("%s: taken", bad[i]);
        assert_non_null(strstr(why, bad[i]));
    }
    router_match match;
    assert_int_equal(router_find(r, SKUA_SLICE("GET"), SKUA_SLICE("/"), &match), ROUTER_NO_PATH);
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
    for (size_t i = 0; i < 4096; i++) pattern[i] = i % 2 ? 'a' : '/';
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
    static const char *const apart[] = { "/a",     "GET /a",      "HEAD /a", "POST /a", "PUT /a", "/a/", "/a/{$}",
                                         "/a/{x}", "GET /a/{x}/", "/{x}",    "/{x...}", "/{$}",   NULL };
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
    assert_int_equal(match->route->param_count, n);
}

static void check_find(const router *r, const find_case *c)
{
    router_match match;
    router_outcome outcome = router_find(r, slice_of(c->method), slice_of(c->path), &match);
    router_outcome expected = c->pattern ? ROUTER_FOUND : c->allow ? ROUTER_NO_METHOD : ROUTER_NO_PATH;
    if (outcome != expected) fail_msg("%s %s: outcome %d", c->method, c->path, (int)outcome);
    if (c->pattern) {
        if (!slice_equal(match.route->pattern, slice_of(c->pattern))) {
            fail_msg("%s %s: %s", c->method, c->path, match.route->pattern.ptr);
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
        "/{$}",      "GET /a",       "POST /a",           "/a/",           "/a/{$}",           "/a/{x}",
        "/a/b",      "GET /a/{x}/c", "/a/{x}/{rest...}",  "/{any}/b",      "GET /deep/",
        "HEAD /h",   "GET /h",       "BREW /pot/{$}",     "DELETE /{any}", "/m/{x}/y",         "/m/lit/z",
        "/f/{name}", NULL,
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
        { "POST", "/a/q/c", "/a/{x}/{rest...}", NULL, { "q", "c" } },
        { "GET", "/a/q/c/d", "/a/{x}/{rest...}", NULL, { "q", "c/d" } },
        { "GET", "/a/b/c", "GET /a/{x}/c", NULL, { "b" } },
        { "GET", "/a//", "/a/", NULL, { NULL } },
        { "GET", "/z/b", "/{any}/b", NULL, { "z" } },
        { "GET", "/z", NULL, "DELETE", { NULL } },
        { "GET", "/z/", NULL, NULL, { NULL } },
        { "GET", "/deep/x/y", "GET /deep/", NULL, { NULL } },
        { "POST", "/deep/x/y", NULL, "GET, HEAD", { NULL } },
        { "HEAD", "/h", "HEAD /h", NULL, { NULL } },
        { "GET", "/h", "GET /h", NULL, { NULL } },
        { "PUT", "/h", NULL, "DELETE, GET, HEAD", { NULL } },
        { "GET", "/pot/", NULL, "BREW", { NULL } },
        { "GET", "/pot/x", NULL, NULL, { NULL } },
        { "GET", "/m/lit/y", "/m/{x}/y", NULL, { "lit" } },
        { "GET", "/m/lit/z", "/m/lit/z", NULL, { NULL } },
        { "GET", "/m/lit/x", NULL, NULL, { NULL } },
        { "GET", "/f/", NULL, NULL, { NULL } },
        { "GET", "/f/x", "/f/{name}", NULL, { "x" } },
        { "GET", "/A", NULL, "DELETE", { NULL } },
        { "GET", "*", NULL, NULL, { NULL } },
        { "GET", "", NULL, NULL, { NULL } },
    };
    router *r = router_of(patterns);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_find(r, &cases[i]);
    assert_int_equal(add(r, "PUT /deep/{x...}"), SKUA_OK);
    check_find(r, &(find_case){ "PUT", "/deep/a/b", "PUT /deep/{x...}", NULL, { "a/b" } });
    check_find(r, &(find_case){ "POST", "/deep/a/b", NULL, "GET, HEAD, PUT", { NULL } });
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
    assert_int_equal(router_find(r, SKUA_SLICE("GET"), SKUA_SLICE("/a"), &match), ROUTER_NO_METHOD);
    // Whole names only: 23 of nine octets, and commas between.
    assert_int_equal(match.allow_len, 23 * 9 + 22 * 2);
    assert_memory_equal(match.allow + match.allow_len - 9, "METHOD-22", 9);
    router_free(r);
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

// ---- Against a list ----

static uint64_t seed;

static unsigned random_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

enum { LIST_MAX = 40, TEXT_OCTETS = 64 };

static char list[LIST_MAX][TEXT_OCTETS]; // patterns that were taken
static unsigned listed;

static void append(char *text, const char *more)
{
    size_t len = strlen(text);
    assert_true(len + strlen(more) < TEXT_OCTETS);
    memcpy(text + len, more, strlen(more) + 1);
}

static void random_pattern(char *out)
{
    static const char *const methods[] = { "", "", "GET ", "GET ", "HEAD ", "POST ", "PUT " };
    static const char *const literals[] = { "/a", "/b", "/cc" };
    static const char *const params[] = { "/{p0}", "/{p1}", "/{p2}" };
    static const char *const ends[] = { "", "", "", "/", "/{$}", "/{t...}" };
    unsigned n = random_below(4);
    const char *end = ends[random_below(6)];
    out[0] = 0;
    append(out, methods[random_below(7)]);
    for (unsigned i = 0; i < n; i++) append(out, random_below(4) ? literals[random_below(3)] : params[i]);
    append(out, n == 0 && !*end ? "/" : end);
}

static void random_path(char *out)
{
    static const char *const pieces[] = { "/a", "/b", "/cc", "/d", "/%2F" };
    unsigned n = random_below(5);
    out[0] = 0;
    for (unsigned i = 0; i < n; i++) append(out, pieces[random_below(5)]);
    if (n == 0 || random_below(3) == 0) append(out, "/");
}

static bool ranked(char *rank, char letter)
{
    rank[0] = letter;
    rank[1] = 0;
    return true;
}

// Ranks how a pattern's path matches, one letter per segment: a literal, b parameter, c "{$}", d tail; the
// least in order of letters wins. False if it does not match.
static bool naive_match(const char *pattern, const char *path, char *rank)
{
    pattern = strchr(pattern, '/');
    for (;;) {
        size_t p = strcspn(pattern + 1, "/"), s = strcspn(path + 1, "/");
        bool pattern_last = !pattern[1 + p], path_last = !path[1 + s];
        if (pattern_last && (p == 0 || strncmp(pattern + 1, "{t", 2) == 0)) return ranked(rank, 'd');
        if (pattern_last && strcmp(pattern + 1, "{$}") == 0) {
            return path_last && s == 0 && ranked(rank, 'c');
        }
        bool param = pattern[1] == '{';
        if (param ? s == 0 : p != s || memcmp(pattern + 1, path + 1, p) != 0) return false;
        (void)ranked(rank++, param ? 'b' : 'a');
        if (pattern_last || path_last) return pattern_last && path_last;
        pattern += 1 + p;
        path += 1 + s;
    }
}

// 0: does not take it; else the smaller the more specific.
static int naive_method(const char *pattern, const char *method)
{
    size_t len = (size_t)(strchr(pattern, '/') - pattern);
    if (len == 0) return 3;
    if (len - 1 == strlen(method) && memcmp(pattern, method, len - 1) == 0) return 1;
    return strcmp(method, "HEAD") == 0 && strncmp(pattern, "GET ", 4) == 0 ? 2 : 0;
}

static const char *naive_find(const char *method, const char *path, bool *path_seen)
{
    const char *best = NULL;
    char best_rank[16] = "", rank[16] = "";
    int best_method = 0;
    *path_seen = false;
    for (unsigned i = 0; i < listed; i++) {
        if (!naive_match(list[i], path, rank)) continue;
        *path_seen = true;
        int m = naive_method(list[i], method);
        if (m == 0) continue;
        int order = best ? strcmp(rank, best_rank) : -1;
        if (order > 0 || (order == 0 && m > best_method)) continue;
        best = list[i];
        best_method = m;
        memcpy(best_rank, rank, sizeof rank);
    }
    return best;
}

static void check_allow(const char *path, const router_match *match)
{
    static const char *const sorted[] = { "GET", "HEAD", "POST", "PUT" };
    char expected[TEXT_OCTETS] = "", rank[16];
    for (size_t k = 0; k < 4; k++) {
        bool has = false;
        for (unsigned i = 0; i < listed; i++) {
            has |= naive_match(list[i], path, rank) && naive_method(list[i], sorted[k]);
        }
        if (has && *expected) append(expected, ", ");
        if (has) append(expected, sorted[k]);
    }
    assert_true(slice_equal(slice_make(match->allow, match->allow_len), slice_of(expected)));
}

static void compare(const router *r, const char *method, const char *path)
{
    bool path_seen;
    router_match match;
    const char *expected = naive_find(method, path, &path_seen);
    router_outcome outcome = router_find(r, slice_of(method), slice_of(path), &match);
    if (expected) {
        if (outcome != ROUTER_FOUND || !slice_equal(match.route->pattern, slice_of(expected))) {
            fail_msg("%s %s: not %s", method, path, expected);
        }
    } else {
        assert_int_equal(outcome, path_seen ? ROUTER_NO_METHOD : ROUTER_NO_PATH);
        if (path_seen) check_allow(path, &match);
    }
}

static void test_router_equals_a_list(void **state)
{
    (void)state;
    static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "BREW" };
    for (uint64_t round = 1; round <= 2000; round++) {
        seed = round * 0x9e3779b97f4a7c15u;
        router *r = router_new();
        listed = 0;
        unsigned n = 1 + random_below(LIST_MAX);
        for (unsigned i = 0; i < n; i++) {
            random_pattern(list[listed]);
            skua_status status = add(r, list[listed]);
            assert_true(status == SKUA_OK || status == SKUA_EEXIST);
            if (status == SKUA_OK) listed++;
        }
        char path[TEXT_OCTETS];
        for (int i = 0; i < 100; i++) {
            random_path(path);
            compare(r, methods[random_below(5)], path);
        }
        router_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_router_takes_patterns),
        cmocka_unit_test(test_router_refuses_patterns),
        cmocka_unit_test(test_router_refuses_long_patterns),
        cmocka_unit_test(test_router_names_conflicts),
        cmocka_unit_test(test_router_finds_the_most_specific),
        cmocka_unit_test(test_router_knows_methods),
        cmocka_unit_test(test_router_bounds_methods),
        cmocka_unit_test(test_router_finds_among_thousands),
        cmocka_unit_test(test_router_equals_a_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
