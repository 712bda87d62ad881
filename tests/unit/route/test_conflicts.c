// SPDX-License-Identifier: MIT
//
// Conflicts: random patterns beside sets of requests. A small world of hosts, paths and methods is
// counted out, a pattern is the set of requests that it takes, and what skua.h says of specificity
// is said of sets.

#include "route/router.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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

static uint64_t seed;

static unsigned random_below(unsigned n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 33) % n;
}

// ---- The world ----

enum {
    TEXT_OCTETS = 64,
    PIECES = 4,
    DEPTH = 4,
    PATHS = 682,
    HOSTS = 8,
    METHODS = 5,
    LIST_MAX = 40
};

static const char *const world_hosts[HOSTS] = { "",    "h",   "x.h",   "y.h",
                                                "x.k", "y.k", "a.x.h", "b.x.h" };
static const char *const world_methods[METHODS] = { "BREW", "GET", "HEAD", "POST", "PUT" };
static char world_paths[PATHS][TEXT_OCTETS];

static void append(char *text, const char *more)
{
    size_t len = strlen(text);
    assert_true(len + strlen(more) < TEXT_OCTETS);
    memcpy(text + len, more, strlen(more) + 1);
}

// Every path of up to four segments, with and without a slash at its end.
static void world_make(void)
{
    static const char *const pieces[PIECES] = { "/a", "/b", "/cc", "/d" };
    unsigned count = 0, of_depth = 1;
    for (unsigned depth = 0; depth <= DEPTH; depth++, of_depth *= PIECES) {
        for (unsigned n = 0; n < 2 * of_depth; n++) {
            char *path = world_paths[count++];
            for (unsigned i = 0, digits = n / 2; i < depth; i++, digits /= PIECES)
                append(path, pieces[digits % PIECES]);
            if (n % 2 || depth == 0) append(path, "/");
        }
    }
    assert_int_equal(count, PATHS);
}

// ---- Patterns as sets ----

typedef struct pattern_set {
    char text[TEXT_OCTETS];
    unsigned hosts, methods; // bits
    uint64_t paths[PATHS / 64 + 1];
} pattern_set;

static pattern_set list[LIST_MAX]; // patterns that were taken
static unsigned listed;

static bool naive_host(const char *host, const char *name)
{
    if (!*host) return true;
    if (host[0] != '{') return strcmp(host, name) == 0;
    const char *dot = strchr(name, '.');
    return dot && strcmp(strchr(host, '.'), dot) == 0;
}

static bool naive_path(const char *pattern, const char *path)
{
    for (;;) {
        size_t p = strcspn(pattern + 1, "/"), s = strcspn(path + 1, "/");
        bool pattern_last = !pattern[1 + p], path_last = !path[1 + s];
        if (pattern_last && (p == 0 || strncmp(pattern + 1, "{t", 2) == 0)) return true;
        if (pattern_last && strcmp(pattern + 1, "{$}") == 0) return path_last && s == 0;
        bool param = pattern[1] == '{';
        if (param ? s == 0 : p != s || memcmp(pattern + 1, path + 1, p) != 0) return false;
        if (pattern_last || path_last) return pattern_last && path_last;
        pattern += 1 + p;
        path += 1 + s;
    }
}

static bool naive_method(const char *method, const char *name)
{
    return !*method || strcmp(method, name) == 0 ||
           (strcmp(method, "GET") == 0 && strcmp(name, "HEAD") == 0);
}

static void random_pattern(pattern_set *out)
{
    static const char *const methods[] = { "", "", "GET", "GET", "HEAD", "POST", "PUT" };
    static const char *const hosts[] = {
        "", "", "", "h", "x.h", "{w}.h", "{w}.x.h", "{w}.k", "x.k"
    };
    static const char *const literals[] = { "/a", "/b", "/cc" };
    static const char *const params[] = { "/{p0}", "/{p1}", "/{p2}" };
    static const char *const ends[] = { "", "", "", "/", "/{$}", "/{t...}" };
    const char *method = methods[random_below(7)], *host = hosts[random_below(9)],
               *end = ends[random_below(6)];
    char path[TEXT_OCTETS] = "";
    unsigned n = random_below(4);
    for (unsigned i = 0; i < n; i++)
        append(path, random_below(4) ? literals[random_below(3)] : params[i]);
    append(path, n == 0 && !*end ? "/" : end);
    *out = (pattern_set){ 0 };
    int octets =
        snprintf(out->text, sizeof out->text, "%s%s%s%s", method, *method ? " " : "", host, path);
    assert_true((size_t)octets < sizeof out->text);
    for (unsigned i = 0; i < HOSTS; i++)
        out->hosts |= (unsigned)naive_host(host, world_hosts[i]) << i;
    for (unsigned i = 0; i < METHODS; i++)
        out->methods |= (unsigned)naive_method(method, world_methods[i]) << i;
    for (unsigned i = 0; i < PATHS; i++) {
        if (naive_path(path, world_paths[i])) out->paths[i / 64] |= (uint64_t)1 << (i % 64);
    }
}

typedef enum set_order { SAME, NARROWER, WIDER, APART, ACROSS } set_order;

static set_order order_of(bool left, bool right, bool shared)
{
    if (!shared) return APART;
    if (left && right) return ACROSS;
    if (left) return WIDER;
    return right ? NARROWER : SAME;
}

static set_order order_bits(unsigned a, unsigned b)
{
    return order_of(a & ~b, b & ~a, a & b);
}

static set_order order_paths(const pattern_set *a, const pattern_set *b)
{
    bool left = false, right = false, shared = false;
    for (size_t i = 0; i < sizeof a->paths / sizeof *a->paths; i++) {
        left |= (a->paths[i] & ~b->paths[i]) != 0;
        right |= (b->paths[i] & ~a->paths[i]) != 0;
        shared |= (a->paths[i] & b->paths[i]) != 0;
    }
    return order_of(left, right, shared);
}

// By host, then by path, then by method; APART if they share no request.
static set_order order_patterns(const pattern_set *a, const pattern_set *b)
{
    set_order hosts = order_bits(a->hosts, b->hosts), paths = order_paths(a, b);
    set_order methods = order_bits(a->methods, b->methods);
    if (hosts == APART || paths == APART || methods == APART) return APART;
    if (hosts != SAME) return hosts;
    return paths != SAME ? paths : methods;
}

// ---- Registering ----

static void take(router *r)
{
    pattern_set fresh;
    random_pattern(&fresh);
    bool same = false, doubt = false, named = false;
    skua_status status = add(r, fresh.text);
    for (unsigned i = 0; i < listed; i++) {
        set_order order = order_patterns(&fresh, &list[i]);
        if (order != SAME && order != ACROSS) continue;
        if (order == SAME) same = true;
        else doubt = true;
        char quoted[TEXT_OCTETS + 2];
        (void)snprintf(quoted, sizeof quoted, "\"%s\"", list[i].text);
        if (status == SKUA_EEXIST && strstr(why, quoted)) named = true;
    }
    if (same || doubt) {
        if (status != SKUA_EEXIST) fail_msg("%s: taken in spite of a conflict", fresh.text);
        if (!named || !strstr(why, fresh.text)) fail_msg("%s: %s", fresh.text, why);
    } else {
        if (status != SKUA_OK) fail_msg("%s: %s", fresh.text, why);
        list[listed++] = fresh;
    }
}

static bool set_takes(const pattern_set *p, unsigned host, unsigned path)
{
    return (p->hosts >> host & 1) && (p->paths[path / 64] >> (path % 64) & 1);
}

// A pattern without a method that takes everything below a path.
static bool is_catch_all(const pattern_set *p)
{
    size_t len = strlen(p->text);
    bool tail = p->text[len - 1] == '/' || (len > 4 && strcmp(p->text + len - 4, "...}") == 0);
    return tail && !strchr(p->text, ' ');
}

// Whether the pattern takes the request. A catch-all takes none whose path has a more specific pattern.
static bool set_takes_request(const pattern_set *p, unsigned method, unsigned host, unsigned path)
{
    if (!set_takes(p, host, path) || !(p->methods >> method & 1)) return false;
    for (unsigned i = 0; i < listed && is_catch_all(p); i++) {
        const pattern_set *other = &list[i];
        bool same_place =
            order_bits(other->hosts, p->hosts) == SAME && order_paths(other, p) == SAME;
        if (other != p && set_takes(other, host, path) && !same_place &&
            order_patterns(other, p) == NARROWER && !(other->methods >> method & 1))
            return false;
    }
    return true;
}

// The pattern that takes the request and is more specific than every other that does.
static const pattern_set *naive_find(unsigned method, unsigned host, unsigned path)
{
    const pattern_set *best = NULL;
    for (unsigned i = 0; i < listed; i++) {
        if (!set_takes_request(&list[i], method, host, path)) continue;
        if (!best || order_patterns(&list[i], best) == NARROWER) best = &list[i];
    }
    for (unsigned i = 0; i < listed && best; i++) {
        if (&list[i] == best || !set_takes_request(&list[i], method, host, path)) continue;
        if (order_patterns(best, &list[i]) != NARROWER)
            fail_msg("%s beside %s", best->text, list[i].text);
    }
    return best;
}

static void check_allow(unsigned host, unsigned path, const router_match *match)
{
    char expected[TEXT_OCTETS] = "";
    unsigned methods = 0;
    for (unsigned i = 0; i < listed; i++) {
        if (set_takes(&list[i], host, path) && !is_catch_all(&list[i])) methods |= list[i].methods;
    }
    for (unsigned k = 0; k < METHODS; k++) {
        if (!(methods >> k & 1)) continue;
        if (*expected) append(expected, ", ");
        append(expected, world_methods[k]);
    }
    assert_true(slice_equal(slice_make(match->allow, match->allow_len), slice_of(expected)));
}

static void compare(const router *r)
{
    unsigned method = random_below(METHODS), host = random_below(HOSTS), path = random_below(PATHS);
    router_query query = { slice_of(world_methods[method]), slice_of(world_hosts[host]),
                           slice_of(world_paths[path]) };
    router_match match;
    router_outcome outcome = router_find(r, &query, &match);
    const pattern_set *expected = naive_find(method, host, path);
    if (expected) {
        if (outcome != ROUTER_FOUND ||
            !slice_equal(match.route->pattern.text, slice_of(expected->text))) {
            fail_msg("%s %s %s: not %s", world_methods[method], world_hosts[host],
                     world_paths[path], expected->text);
        }
        return;
    }
    bool path_seen = false;
    for (unsigned i = 0; i < listed; i++)
        path_seen |= set_takes(&list[i], host, path);
    assert_int_equal(outcome, path_seen ? ROUTER_NO_METHOD : ROUTER_NO_PATH);
    if (path_seen) check_allow(host, path, &match);
}

// Patterns that were taken are taken in any order: the relation does not know which came first.
static void register_in_reverse(void)
{
    router *r = router_new();
    assert_non_null(r);
    for (unsigned i = listed; i > 0; i--)
        assert_int_equal(add(r, list[i - 1].text), SKUA_OK);
    for (int i = 0; i < 30; i++)
        compare(r);
    router_free(r);
}

static void test_conflicts_are_those_of_sets(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 1000; round++) {
        seed = round * 0x9e3779b97f4a7c15u;
        router *r = router_new();
        assert_non_null(r);
        listed = 0;
        unsigned n = 1 + random_below(LIST_MAX);
        for (unsigned i = 0; i < n; i++)
            take(r);
        for (int i = 0; i < 60; i++)
            compare(r);
        router_free(r);
        register_in_reverse();
    }
}

// ---- Thousands ----

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// Literals, parameters at either end, and tails, three thousand of each kind side by side, within
// seconds even when sanitized. If each were compared with each, it would be more than a hundred
// million comparisons of strings.
static void test_conflicts_are_found_quickly(void **state)
{
    (void)state;
    static const char *const kinds[] = {
        "GET /literal-%d/x/y", "GET /api/{id}/part-%d",           "GET /{tenant}/page-%d",
        "POST /files/%d/",     "PUT host-%d.example.com/{x}/{$}", "/deep/a/b/c/%d/{x}/{y}/z"
    };
    double began = cpu_seconds();
    router *r = router_new();
    for (int i = 0; i < 3000; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            char pattern[TEXT_OCTETS];
            const char *percent = strchr(kinds[k], '%');
            (void)snprintf(pattern, sizeof pattern, "%.*s%d%s", (int)(percent - kinds[k]), kinds[k],
                           i, percent + 2);
            if (add(r, pattern) != SKUA_OK) fail_msg("%s: %s", pattern, why);
        }
    }
    assert_int_equal(add(r, "GET /literal-77/{x}/{z}"), SKUA_OK);
    assert_int_equal(add(r, "GET /{x}/x/{z}"), SKUA_EEXIST);
    assert_non_null(strstr(why, "/literal-77/{x}/{z}"));
    router_free(r);
    assert_true(cpu_seconds() - began < 5);
}

int main(void)
{
    world_make();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflicts_are_those_of_sets),
        cmocka_unit_test(test_conflicts_are_found_quickly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
