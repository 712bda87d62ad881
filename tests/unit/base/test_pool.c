// SPDX-License-Identifier: MIT
//
// The pool: objects stay where they are, and one that is gone is never found again.

#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

typedef struct thing {
    pool_item item;
    char content[40];
} thing;

enum { THINGS = 3 * POOL_SLAB_ITEMS + 5, SLOTS = 4 * POOL_SLAB_ITEMS };

static thing *take(pool *p)
{
    thing *t = pool_take(p);
    assert_non_null(t);
    for (size_t i = 0; i < sizeof t->content; i++)
        assert_int_equal(t->content[i], 0);
    memset(t->content, 'x', sizeof t->content);
    return t;
}

static void test_pool_item_goes_through_a_life(void **state)
{
    (void)state;
    pool p;
    pool_init(&p, sizeof(thing), 10);
    assert_null(pool_find(&p, 0, 0));
    thing *t = take(&p);
    assert_int_equal(t->item.slot, 0);
    assert_int_equal(t->item.generation, 1);
    assert_ptr_equal(pool_find(&p, 0, 1), t);
    assert_int_equal(p.in_use, 1);
    pool_give(&p, t);
    assert_int_equal(p.in_use, 0);
    assert_null(pool_find(&p, 0, 1));
    assert_ptr_equal(take(&p), t);
    assert_int_equal(t->item.generation, 3);
    assert_null(pool_find(&p, 0, 1));
    assert_ptr_equal(pool_find(&p, 0, 3), t);
    assert_null(pool_find(&p, POOL_SLAB_ITEMS, 1));
    assert_null(pool_find(&p, UINT32_MAX, 1));
    pool_give(&p, t);
    pool_deinit(&p);
}

static void test_pool_slots_come_in_order_over_slabs(void **state)
{
    (void)state;
    static thing *things[THINGS];
    pool p;
    pool_init(&p, sizeof(thing), THINGS);
    for (uint32_t i = 0; i < THINGS; i++) {
        things[i] = take(&p);
        assert_int_equal(things[i]->item.slot, i);
    }
    assert_int_equal(p.slab_count, 4);
    for (uint32_t i = 0; i < THINGS; i++)
        assert_ptr_equal(pool_find(&p, i, 1), things[i]);
    for (uint32_t i = 0; i < THINGS; i++)
        pool_give(&p, things[i]);
    pool_deinit(&p);
}

static void test_pool_stops_at_items_max(void **state)
{
    (void)state;
    pool p;
    pool_init(&p, sizeof(thing), 2);
    thing *a = take(&p), *b = take(&p);
    assert_null(pool_take(&p));
    pool_give(&p, a);
    assert_ptr_equal(take(&p), a);
    assert_null(pool_take(&p));
    pool_give(&p, a);
    pool_give(&p, b);
    pool_deinit(&p);
    pool_init(&p, sizeof(thing), 0);
    assert_null(pool_take(&p));
    pool_deinit(&p);
}

static void test_pool_smallest_item(void **state)
{
    (void)state;
    pool p;
    pool_init(&p, 16, POOL_SLAB_ITEMS + 1);
    pool_item *items[POOL_SLAB_ITEMS + 1];
    for (size_t i = 0; i <= POOL_SLAB_ITEMS; i++) {
        items[i] = pool_take(&p);
        assert_non_null(items[i]);
    }
    for (size_t i = 0; i <= POOL_SLAB_ITEMS; i++)
        pool_give(&p, items[i]);
    pool_deinit(&p);
}

// ---- Sweeping ----

static thing *things[THINGS];

static void fill(pool *p, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        things[i] = take(p);
}

static void give(pool *p, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        pool_give(p, things[i]);
}

static void test_pool_keeps_what_was_needed(void **state)
{
    (void)state;
    const size_t slab = POOL_SLAB_ITEMS * sizeof(thing);
    pool p;
    pool_init(&p, sizeof(thing), THINGS);
    assert_int_equal(pool_sweep(&p), 0);
    fill(&p, THINGS);
    give(&p, 0, THINGS);
    assert_int_equal(pool_sweep(&p), 0); // all were in use since the last sweep
    assert_int_equal(pool_octets(&p), 4 * slab);
    fill(&p, POOL_SLAB_ITEMS + 1);
    give(&p, 0, POOL_SLAB_ITEMS + 1);
    assert_int_equal(pool_sweep(&p), 2 * slab); // two slabs hold as many
    assert_int_equal(pool_sweep(&p), 2 * slab);
    assert_int_equal(pool_octets(&p), 0);
    assert_int_equal(p.slab_count, 0);
    fill(&p, THINGS);
    give(&p, 0, THINGS);
    pool_deinit(&p);
}

// One in use keeps its slab, wherever that is; its slot is found, those of other slabs are not.
static void test_pool_sweeps_around_what_is_in_use(void **state)
{
    (void)state;
    const size_t slab = POOL_SLAB_ITEMS * sizeof(thing);
    pool p;
    pool_init(&p, sizeof(thing), THINGS);
    fill(&p, THINGS);
    uint32_t kept = 2 * POOL_SLAB_ITEMS + 7;
    give(&p, 0, kept);
    give(&p, kept + 1, THINGS);
    (void)pool_sweep(&p);
    assert_int_equal(pool_sweep(&p), 3 * slab);
    assert_int_equal(pool_octets(&p), slab);
    assert_ptr_equal(pool_find(&p, kept, 1), things[kept]);
    assert_null(pool_find(&p, 0, 1));
    assert_null(pool_find(&p, THINGS - 1, 1));
    // its slab is filled first, then the places that are vacant
    for (uint32_t i = 0; i < THINGS - 1; i++) {
        thing *t = take(&p);
        assert_true(i >= POOL_SLAB_ITEMS - 1 || t->item.slot / POOL_SLAB_ITEMS == 2);
        assert_true(t->item.slot < 4 * POOL_SLAB_ITEMS);
        assert_null(pool_find(&p, t->item.slot, 1)); // what had been there is not found
        assert_ptr_equal(pool_find(&p, t->item.slot, t->item.generation), t);
        things[i < kept ? i : i + 1] = t;
    }
    assert_int_equal(pool_octets(&p), 4 * slab);
    give(&p, 0, THINGS);
    pool_deinit(&p);
}

static void test_pool_hands_out_low_slots_after_a_sweep(void **state)
{
    (void)state;
    pool p;
    pool_init(&p, sizeof(thing), THINGS);
    fill(&p, THINGS);
    give(&p, 10, THINGS);
    (void)pool_sweep(&p);
    (void)pool_sweep(&p);
    assert_int_equal(p.slab_count, 1);
    for (uint32_t i = 10; i < POOL_SLAB_ITEMS; i++) {
        things[i] = take(&p);
        assert_int_equal(things[i]->item.slot, i);
    }
    give(&p, 0, POOL_SLAB_ITEMS);
    pool_deinit(&p);
}

// Takes and gives at random, in ebb and flow; every object in use is found and every one given back
// is not.
static void test_pool_finds_just_what_is_in_use(void **state)
{
    (void)state;
    static thing *held[SLOTS];
    static uint32_t generations[SLOTS];
    uint32_t seed = 1;
    size_t swept = 0;
    pool p;
    pool_init(&p, sizeof(thing), THINGS);
    for (unsigned turn = 0; turn < 50000; turn++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t slot = (seed >> 8) % SLOTS;
        if (turn % 500 == 0) swept += pool_sweep(&p);
        if (held[slot]) {
            assert_ptr_equal(pool_find(&p, slot, generations[slot]), held[slot]);
            pool_give(&p, held[slot]);
            held[slot] = NULL;
            assert_null(pool_find(&p, slot, generations[slot]));
            continue;
        }
        if (turn % 20000 >= 10000 && slot >= 4) continue;
        thing *t = pool_take(&p);
        assert_non_null(t);
        assert_null(held[t->item.slot]);
        assert_int_equal(t->item.generation % 2, 1);
        assert_true(t->item.generation > generations[t->item.slot]);
        held[t->item.slot] = t;
        generations[t->item.slot] = t->item.generation;
    }
    assert_true(swept > 0);
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (held[i]) pool_give(&p, held[i]);
    }
    pool_deinit(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_item_goes_through_a_life),
        cmocka_unit_test(test_pool_slots_come_in_order_over_slabs),
        cmocka_unit_test(test_pool_stops_at_items_max),
        cmocka_unit_test(test_pool_smallest_item),
        cmocka_unit_test(test_pool_keeps_what_was_needed),
        cmocka_unit_test(test_pool_sweeps_around_what_is_in_use),
        cmocka_unit_test(test_pool_hands_out_low_slots_after_a_sweep),
        cmocka_unit_test(test_pool_finds_just_what_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
