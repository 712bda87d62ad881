// SPDX-License-Identifier: MIT
//
// The arena: pieces never touch each other, are aligned, and all come back at a reset.

#include "base/arena.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static block_store store;

static int setup(void **state)
{
    (void)state;
    block_store_init(&store, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    block_store_deinit(&store); // asserts that every block is back
    return 0;
}

static void test_arena_fresh_holds_no_memory(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    assert_int_equal(store.out_count, 0);
    arena_reset(&a);
    assert_int_equal(store.out_count, 0);
}

enum { PIECES = 400 };

static void test_arena_pieces_are_apart_and_aligned(void **state)
{
    (void)state;
    static const size_t sizes[] = {
        0, 1, 15, 16, 17, 100, 1000, 5000, BLOCK_OCTETS - 1, BLOCK_OCTETS, BLOCK_OCTETS + 1, 70000
    };
    unsigned char *pieces[PIECES];
    size_t lengths[PIECES];
    arena a;
    arena_init(&a, &store);
    for (size_t i = 0; i < PIECES; i++) {
        lengths[i] = sizes[(i * 7) % (sizeof sizes / sizeof sizes[0])];
        pieces[i] = arena_alloc(&a, lengths[i]);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 0xff), lengths[i]);
    }
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t j = 0; j < lengths[i]; j++)
            assert_int_equal(pieces[i][j], i & 0xff);
    }
    arena_reset(&a);
    assert_int_equal(store.out_count, 0);
}

static void test_arena_block_fills_to_its_end(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    for (size_t i = 0; i < BLOCK_OCTETS / 16; i++)
        assert_non_null(arena_alloc(&a, 16));
    assert_int_equal(store.out_count, 1);
    assert_non_null(arena_alloc(&a, 1));
    assert_int_equal(store.out_count, 2);
    arena_reset(&a);
}

static void test_arena_lent_octets_go_first(void **state)
{
    (void)state;
    _Alignas(16) char room[64];
    arena a;
    arena_init(&a, &store);
    arena_lend(&a, room, sizeof room);
    assert_ptr_equal(arena_alloc(&a, 40), room);
    assert_ptr_equal(arena_alloc(&a, 16), room + 48);
    assert_int_equal(store.out_count, 0);
    assert_non_null(arena_alloc(&a, 1));
    assert_int_equal(store.out_count, 1);
    arena_reset(&a);
    assert_non_null(arena_alloc(&a, 1)); // and are not given out again
    assert_int_equal(store.out_count, 1);
    arena_reset(&a);
}

static void test_arena_large_piece_leaves_the_block(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    char *before = arena_alloc(&a, 16);
    assert_non_null(arena_alloc(&a, BLOCK_OCTETS + 1));
    char *after = arena_alloc(&a, 16);
    assert_ptr_equal(after, before + 16);
    assert_int_equal(store.out_count, 1);
    arena_reset(&a);
}

static void test_arena_makes_room_without_a_block(void **state)
{
    (void)state;
    arena a;
    _Alignas(16) char lent[64];
    arena_init(&a, &store);
    arena_lend(&a, lent, sizeof lent);
    assert_true(arena_has_room(&a, 64));
    assert_false(arena_has_room(&a, 65));
    assert_non_null(arena_alloc_apart(&a, 1000));
    assert_true(arena_has_room(&a, 64)); // which that is not of
    assert_true(arena_make_room(&a, 64));
    assert_ptr_equal(arena_alloc(&a, 48), lent);
    assert_true(arena_make_room(&a, 64));
    assert_true(arena_has_room(&a, 64));
    assert_non_null(arena_alloc(&a, 64));
    assert_int_equal(store.out_count, 0);
    assert_non_null(arena_alloc(&a, 1));
    assert_int_equal(store.out_count, 1);
    assert_true(arena_make_room(&a, BLOCK_OCTETS)); // it has a block by now
    assert_false(arena_has_room(&a, BLOCK_OCTETS));
    arena_reset(&a);
}

static void test_arena_zero_octets_are_memory_too(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    assert_non_null(arena_alloc(&a, 0));
    arena_reset(&a);
}

static void test_arena_refuses_what_wraps(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    assert_non_null(arena_alloc(&a, 1));
    for (size_t less = 0; less < 16; less++)
        assert_null(arena_alloc(&a, SIZE_MAX - less));
    arena_reset(&a);
}

static void test_arena_copy_ends_in_nul(void **state)
{
    (void)state;
    char *text = GUARDED_TEXT("hello");
    arena a;
    arena_init(&a, &store);
    slice copy = arena_copy(&a, slice_make(text, 5));
    guarded_free(text, 5);
    assert_int_equal(copy.len, 5);
    assert_string_equal(copy.ptr, "hello");
    slice empty = arena_copy(&a, slice_make(NULL, 0));
    assert_non_null(empty.ptr);
    assert_string_equal(empty.ptr, "");
    assert_null(arena_copy(&a, slice_make("", SIZE_MAX)).ptr);
    arena_reset(&a);
}

static void test_arena_is_used_again_after_a_reset(void **state)
{
    (void)state;
    arena a;
    arena_init(&a, &store);
    void *first = arena_alloc(&a, 100);
    arena_reset(&a);
    assert_ptr_equal(arena_alloc(&a, 100), first);
    arena_reset(&a);
    arena_reset(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arena_fresh_holds_no_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_pieces_are_apart_and_aligned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_block_fills_to_its_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_lent_octets_go_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_large_piece_leaves_the_block, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_makes_room_without_a_block, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_zero_octets_are_memory_too, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_refuses_what_wraps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_copy_ends_in_nul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arena_is_used_again_after_a_reset, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
