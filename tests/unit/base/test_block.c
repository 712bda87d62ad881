// SPDX-License-Identifier: MIT
//
// The block store: what comes back is given out again, and no more than free_max is kept.

#include "base/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void test_block_is_ready_when_taken(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    block *b = block_take(&store);
    assert_non_null(b);
    assert_null(b->next);
    assert_int_equal(b->refs, 1);
    assert_int_equal(b->room, BLOCK_OCTETS);
    assert_int_equal((uintptr_t)b->data % 16, 0);
    memset(b->data, 'x', b->room);
    assert_int_equal(store.out_count, 1);
    block_give(&store, &b);
    assert_null(b);
    assert_int_equal(store.out_count, 0);
    block_store_deinit(&store);
}

static void test_block_last_in_is_first_out(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    block *a = block_take(&store), *b = block_take(&store);
    block *first = a, *second = b;
    a->refs = 7;
    a->room = 1;
    a->next = b;
    block_give(&store, &b);
    block_give(&store, &a);
    a = block_take(&store);
    b = block_take(&store);
    assert_ptr_equal(a, first);
    assert_ptr_equal(b, second);
    assert_null(a->next);
    assert_int_equal(a->refs, 1);
    assert_int_equal(a->room, BLOCK_OCTETS);
    block_give(&store, &a);
    block_give(&store, &b);
    block_store_deinit(&store);
}

static void check_kept(uint32_t free_max, uint32_t taken, uint32_t kept)
{
    block_store store;
    block *held[8];
    block_store_init(&store, free_max);
    for (uint32_t i = 0; i < taken; i++)
        held[i] = block_take(&store);
    assert_int_equal(store.out_count, taken);
    for (uint32_t i = 0; i < taken; i++)
        block_give(&store, &held[i]);
    assert_int_equal(store.out_count, 0);
    assert_int_equal(store.free_count, kept);
    uint32_t length = 0;
    for (block *b = store.free; b; b = b->next)
        length++;
    assert_int_equal(length, kept);
    block_store_deinit(&store);
    assert_null(store.free);
    assert_int_equal(store.free_count, 0);
}

static void test_block_store_keeps_at_most_free_max(void **state)
{
    (void)state;
    check_kept(0, 3, 0);
    check_kept(1, 3, 1);
    check_kept(3, 3, 3);
    check_kept(8, 3, 3);
}

static void test_block_store_sweeps_what_was_not_taken(void **state)
{
    (void)state;
    block_store store;
    block *held[4];
    block_store_init(&store, 4);
    for (int i = 0; i < 4; i++)
        held[i] = block_take(&store);
    for (int i = 0; i < 4; i++)
        block_give(&store, &held[i]);
    assert_int_equal(block_store_sweep(&store), 0); // all were taken since the last sweep
    assert_int_equal(store.free_count, 4);
    held[0] = block_take(&store);
    assert_int_equal(held[0]->room, BLOCK_OCTETS);
    held[1] = block_take(&store);
    block_give(&store, &held[1]);
    assert_int_equal(block_store_sweep(&store), 2 * (sizeof(block) + BLOCK_OCTETS));
    assert_int_equal(store.free_count, 1);
    assert_true(block_store_sweep(&store) > 0);
    assert_int_equal(store.free_count, 0);
    assert_int_equal(store.out_count, 1);
    block_give(&store, &held[0]);
    block_store_deinit(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_is_ready_when_taken),
        cmocka_unit_test(test_block_last_in_is_first_out),
        cmocka_unit_test(test_block_store_keeps_at_most_free_max),
        cmocka_unit_test(test_block_store_sweeps_what_was_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
