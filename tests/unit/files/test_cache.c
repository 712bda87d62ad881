// SPDX-License-Identifier: MIT
//
// The cache's table, order and bounds, on entries that hold neither answers nor files.

#include "files/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static site small_site(unsigned entries, size_t octets)
{
    return (site){ .cache_entries_max = entries, .cache_octets_max = octets };
}

static cached *entry_new(const char *key, size_t octets)
{
    size_t len = strlen(key);
    cached *entry = calloc(1, sizeof *entry + len);
    assert_non_null(entry);
    entry->key_len = len;
    entry->octets = octets;
    memcpy(entry->key, key, len);
    return entry;
}

static void put(cache *c, const char *key, size_t octets)
{
    cached *entry = entry_new(key, octets);
    cache_put(c, &entry);
    assert_null(entry);
}

static cached *find(cache *c, const char *key)
{
    slice name = slice_of(key);
    return cache_find(c, cache_hash(c, name), name, CACHED_IDENTITY);
}

static void test_cache_finds_what_was_put(void **state)
{
    (void)state;
    site s = small_site(1000, 1 << 20);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    char key[32];
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "dir/%u.html", i);
        assert_null(find(c, key));
        put(c, key, i);
    }
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "dir/%u.html", i);
        cached *entry = find(c, key);
        assert_non_null(entry);
        assert_int_equal(entry->octets, i);
        assert_ptr_equal(c->newest, entry);
    }
    assert_null(find(c, ""));
    put(c, "", 1); // the root
    assert_non_null(find(c, ""));
    cache_let_go(c);
}

static void test_cache_drops_who_was_used_longest_ago(void **state)
{
    (void)state;
    site s = small_site(3, 1000);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    put(c, "a", 1);
    put(c, "b", 1);
    put(c, "c", 1);
    assert_non_null(find(c, "a"));
    put(c, "d", 1);
    assert_null(find(c, "b"));
    assert_non_null(find(c, "a"));
    assert_non_null(find(c, "c"));
    assert_non_null(find(c, "d"));
    assert_int_equal(c->count, 3);
    cache_let_go(c);
}

static void test_cache_keeps_to_its_octets(void **state)
{
    (void)state;
    site s = small_site(100, 100);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    put(c, "a", 40);
    put(c, "b", 40);
    put(c, "c", 20);
    assert_int_equal(c->octets, 100);
    put(c, "d", 1);
    assert_null(find(c, "a"));
    assert_int_equal(c->octets, 61);
    put(c, "e", 101); // larger than all of it: the others stay
    assert_null(find(c, "e"));
    assert_int_equal(c->octets, 61);
    assert_int_equal(c->count, 3);
    put(c, "f", 100);
    assert_int_equal(c->count, 1);
    assert_int_equal(c->octets, 100);
    cache_let_go(c);
}

static void test_cache_replaces(void **state)
{
    (void)state;
    site s = small_site(10, 100);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    put(c, "a", 10);
    put(c, "b", 10);
    put(c, "a", 30);
    assert_int_equal(c->count, 2);
    assert_int_equal(c->octets, 40);
    assert_int_equal(find(c, "a")->octets, 30);
    cache_forget(c, SKUA_SLICE("a"), CACHED_IDENTITY);
    cache_forget(c, SKUA_SLICE("a"), CACHED_IDENTITY);
    assert_null(find(c, "a"));
    assert_int_equal(c->count, 1);
    assert_int_equal(c->octets, 10);
    cache_let_go(c);
}

static void test_cache_without_files_has_none_to_evict(void **state)
{
    (void)state;
    site s = small_site(10, 100);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    put(c, "a", 10);
    assert_false(cache_evict(c));
    assert_non_null(find(c, "a"));
    cache_let_go(c);
}

// Against a list that is searched from its end: every key, every order.
static void test_cache_equals_a_list(void **state)
{
    (void)state;
    enum { ROOM = 8, KEYS = 20 };
    site s = small_site(ROOM, 1 << 20);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    unsigned list[ROOM], count = 0; // the newest last
    uint64_t seed = 88172645463325252u;
    for (unsigned turn = 0; turn < 20000; turn++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        unsigned number = (unsigned)(seed % KEYS), at = 0;
        char key[8];
        (void)snprintf(key, sizeof key, "%u", number);
        while (at < count && list[at] != number)
            at++;
        bool known = at < count;
        assert_int_equal(find(c, key) != NULL, known);
        if (!known && !(seed >> 60)) continue;
        if (!known) put(c, key, 1);
        if (!known && count == ROOM) at = 0;
        else if (!known) count++;
        memmove(list + at, list + at + 1, (count - 1 - at) * sizeof *list);
        list[count - 1] = number;
        assert_int_equal(c->count, count);
    }
    cache_let_go(c);
}

static void test_cache_draws_differ(void **state)
{
    (void)state;
    site s = small_site(1, 1);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    assert_true(cache_draw(c) != cache_draw(c));
    cache_let_go(c);
}

// When memory is short, entries go that count as held for clients, and no others.
static void test_cache_shrinks(void **state)
{
    (void)state;
    site s = small_site(10, 1 << 20);
    cache *c = cache_new(&s, 0);
    assert_non_null(c);
    cached *made = entry_new("made", 1000), *kept = entry_new("kept", 1000);
    made->is_made = true;
    kept->is_kept = true;
    cache_put(c, &made);
    put(c, "small", 1000);
    cache_put(c, &kept);
    cache_shrink_counted(c);
    assert_null(find(c, "made"));
    assert_null(find(c, "kept"));
    assert_non_null(find(c, "small"));
    assert_int_equal(c->octets, 1000);
    cache_let_go(c);
}

// Last-Modified is never later than Date, though the clock is set back.
static void test_a_clock_that_is_set_back(void **state)
{
    const int64_t second_ns = 1000000000;
    const skua_file_info info = { .size = 3, .mtime_ns = 50 * second_ns };
    const cached entry = { .origin = { .info = info, .last_modified = 50 } };
    cached coded = { .is_made = true, .origin = entry.origin };
    (void)state;
    assert_true(cached_is_same(&entry, &info, 50 * second_ns));
    assert_false(cached_is_same(&entry, &info, 50 * second_ns - 1));
    assert_true(cached_is_of(&coded, &entry));
    coded.origin.last_modified = 49;
    assert_false(cached_is_of(&coded, &entry));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_finds_what_was_put),
        cmocka_unit_test(test_cache_shrinks),
        cmocka_unit_test(test_cache_drops_who_was_used_longest_ago),
        cmocka_unit_test(test_cache_keeps_to_its_octets),
        cmocka_unit_test(test_cache_replaces),
        cmocka_unit_test(test_cache_without_files_has_none_to_evict),
        cmocka_unit_test(test_cache_equals_a_list),
        cmocka_unit_test(test_cache_draws_differ),
        cmocka_unit_test(test_a_clock_that_is_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
