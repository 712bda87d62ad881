// SPDX-License-Identifier: MIT
//
// The output queue against a plain string: whatever is pushed leaves once, in order, and every
// block and everything lent comes back.

#include "base/out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { MODEL_OCTETS = 1 << 20, MODEL_RELEASES = 4096, SEGMENTS = 48 };

static out_segment segments[SEGMENTS];

// The octets that should be in the queue.
typedef struct model {
    char octets[MODEL_OCTETS];
    size_t head, tail;
    uint64_t release_at[MODEL_RELEASES]; // total_in at which release number i is due
    unsigned lent, released;
    uint64_t total;
    uint64_t seed;
} model;

static model the;
static char source[65536]; // what lent octets and files are ranges of

static uint64_t random_next(void)
{
    the.seed ^= the.seed << 13;
    the.seed ^= the.seed >> 7;
    the.seed ^= the.seed << 17;
    return the.seed;
}

static size_t random_below(size_t n)
{
    return (size_t)(random_next() % n);
}

static void model_push(const char *octets, size_t n)
{
    if (the.tail + n > MODEL_OCTETS) {
        memmove(the.octets, the.octets + the.head, the.tail - the.head);
        the.tail -= the.head;
        the.head = 0;
    }
    assert_true(the.tail + n <= MODEL_OCTETS);
    memcpy(the.octets + the.tail, octets, n);
    the.tail += n;
    the.total += n;
}

// Releases must come in order, each once.
static void on_release(void *user)
{
    assert_int_equal((uintptr_t)user, the.released);
    the.released++;
}

static void *next_release(void)
{
    the.release_at[the.lent % MODEL_RELEASES] = the.total;
    return (void *)(uintptr_t)the.lent++;
}

static void push_reserved(out_queue *out)
{
    static const size_t needs[] = { 0, 1, 200, 4000, BLOCK_OCTETS };
    size_t need = needs[random_below(5)];
    size_t room = 0;
    char *to = out_reserve(out, need, &room);
    if (!to) {
        assert_int_equal(out->count, out->room);
        return;
    }
    assert_true(room >= need && room > 0);
    size_t n = random_below((need ? need : room) + 1);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)random_next();
    out_commit(out, n);
    model_push(to, n);
}

static void push_appended(out_queue *out)
{
    static const size_t lengths[] = { 1, 18, 4000, BLOCK_OCTETS };
    size_t n = lengths[random_below(4)];
    char *to = out_append(out, n);
    if (!to) {
        assert_int_equal(out->count, out->room);
        return;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = (char)random_next();
    model_push(to, n);
}

static void push_copied(out_queue *out)
{
    size_t n = random_below(random_below(20) ? 700 : 40000);
    slice octets = slice_make(source + random_below(sizeof source - n), n);
    if (out_is_full(out)) return;
    assert_true(out_copy(out, octets));
    model_push(octets.ptr, n);
}

static void push_lent(out_queue *out)
{
    size_t n = random_below(3) ? random_below(9000) : 0;
    slice octets = slice_make(source + random_below(sizeof source - n), n);
    model_push(octets.ptr, n);
    out_lend(out, octets, NULL, NULL);
    if (n == 0 || out_is_full(out)) return;
    model_push(octets.ptr, n);
    out_lend(out, octets, on_release, next_release());
}

static void push_file(out_queue *out)
{
    size_t n = 1 + random_below(9000);
    size_t offset = random_below(sizeof source - n);
    model_push(source + offset, n);
    out_file(out, 7, offset, n, on_release, next_release());
}

static void check_segment(const out_segment *segment, const char *expected)
{
    assert_true(segment->len > 0);
    if (segment->kind == OUT_FILE) {
        assert_int_equal(segment->file, 7);
        assert_memory_equal(source + segment->offset, expected, segment->len);
    } else {
        assert_memory_equal(segment->ptr, expected, segment->len);
    }
}

static void check_queue(out_queue *out)
{
    assert_int_equal(out->octets, the.tail - the.head);
    assert_int_equal(out->total_in, the.total);
    assert_int_equal(out_has_left(out), the.total - out->octets);
    size_t at = the.head;
    for (unsigned i = 0; i < out->count; i++) {
        check_segment(out_segment_at(out, i), the.octets + at);
        at += out_segment_at(out, i)->len;
    }
    assert_int_equal(at, the.tail);
    unsigned due = the.released;
    while (due < the.lent && the.release_at[due % MODEL_RELEASES] <= out_has_left(out))
        due++;
    assert_int_equal(due, the.released);
}

static void pop_some(out_queue *out)
{
    uint64_t n = random_below(3) ? random_below((size_t)out->octets + 1) : out->octets;
    out_pop(out, n);
    the.head += (size_t)n;
}

// One segment that was copied leaves whole, and no block is kept.
static void clear(out_queue *out)
{
    if (out->count != 1 || out_segment_at(out, 0)->kind != OUT_COPIED) return;
    out_clear(out);
    assert_int_equal(out->store->out_count, 0);
    the.head = the.tail;
}

static void step(out_queue *out)
{
    switch (random_below(7)) {
    case 0:
    case 1: push_reserved(out); break;
    case 2: push_copied(out); break;
    case 3:
        if (!out_is_full(out)) push_lent(out);
        break;
    case 4:
        if (!out_is_full(out)) push_file(out);
        break;
    case 5:
        if (random_below(4) == 0 || out->octets > 400000) pop_some(out);
        if (random_below(2)) out_rest(out); // a block is begun with the next
        if (random_below(2)) clear(out);
        break;
    case 6: push_appended(out); break;
    }
}

static void run(uint64_t seed, size_t steps)
{
    memset(&the, 0, sizeof the);
    the.seed = seed * 2654435761u + 1;
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (char)random_next();
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments,
             OUT_SEGMENTS_KEPT + 1 + (unsigned)random_below(SEGMENTS - OUT_SEGMENTS_KEPT));
    for (size_t i = 0; i < steps; i++) {
        step(&out);
        check_queue(&out);
    }
    out_deinit(&out);
    assert_int_equal(the.released, the.lent);
    assert_int_equal(out.octets, 0);
    assert_int_equal(store.out_count, 0);
    block_store_deinit(&store);
}

static void test_out_equals_a_string(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, 500);
}

static void test_out_extends_one_segment(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    for (int i = 0; i < 1000; i++)
        assert_true(out_copy(&out, slice_of("0123456789")));
    assert_int_equal(out.count, 1);
    assert_int_equal(store.out_count, 1);
    for (int i = 0; i < 1000; i++)
        assert_true(out_copy(&out, slice_of("0123456789")));
    assert_int_equal(out.count, 2);
    assert_int_equal(store.out_count, 2);
    out_pop(&out, BLOCK_OCTETS);
    assert_int_equal(store.out_count, 1);
    out_deinit(&out);
    block_store_deinit(&store);
}

static void test_out_starts_its_block_again_when_empty(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    const char *first = out_reserve(&out, 300, NULL);
    for (int i = 0; i < 1000; i++) {
        char *to = out_reserve(&out, 300, NULL);
        assert_ptr_equal(to, first);
        memset(to, 'x', 300);
        out_commit(&out, 300);
        out_pop(&out, 100);
        out_pop(&out, 200);
    }
    assert_int_equal(store.out_count, 1);
    assert_int_equal(out_has_left(&out), 300000);
    out_deinit(&out);
    assert_int_equal(store.out_count, 0);
    assert_true(out_copy(&out, slice_of("again")));
    out_deinit(&out);
    block_store_deinit(&store);
}

static void test_out_rests_without_a_block(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    out_rest(&out);
    assert_true(out_copy(&out, slice_of("one")));
    out_rest(&out); // something is queued
    assert_int_equal(store.out_count, 1);
    out_pop(&out, 3);
    assert_int_equal(store.out_count, 1);
    out_rest(&out);
    assert_int_equal(store.out_count, 0);
    assert_true(out_copy(&out, slice_of("two")));
    assert_int_equal(out.octets, 3);
    out_deinit(&out);
    block_store_deinit(&store);
}

static void count_release(void *user)
{
    ++*(unsigned *)user;
}

static void test_out_refuses_past_its_segments(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    unsigned released = 0;
    while (!out_is_full(&out))
        out_lend(&out, slice_of("lent"), count_release, &released);
    // The four left over are for copied octets around what is lent.
    for (unsigned i = out.count; i + 1 < SEGMENTS; i++) {
        out_lend(&out, slice_of("lent"), count_release, &released);
    }
    assert_true(out_copy(&out, slice_of("fits")));
    assert_int_equal(out.count, SEGMENTS);
    assert_true(out_copy(&out, slice_of("goes on")));
    assert_null(out_reserve(&out, BLOCK_OCTETS, NULL));
    uint64_t before = out.octets;
    static char large[BLOCK_OCTETS];
    assert_false(out_copy(&out, slice_make(large, sizeof large)));
    assert_int_equal(out.octets, before + BLOCK_OCTETS - 11);
    out_pop(&out, 5);
    assert_int_equal(released, 1);
    assert_non_null(out_reserve(&out, BLOCK_OCTETS, NULL));
    out_deinit(&out);
    assert_int_equal(released, SEGMENTS - 1);
    block_store_deinit(&store);
}

static void test_out_releases_nothing_lent_at_once(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    unsigned released = 0;
    out_lend(&out, slice_make(NULL, 0), count_release, &released);
    out_file(&out, 3, 9, 0, count_release, &released);
    out_lend(&out, slice_make(NULL, 0), NULL, NULL);
    assert_int_equal(released, 2);
    assert_int_equal(out.count, 0);
    out_deinit(&out);
    block_store_deinit(&store);
}

// Octets that are copied go on in the queue's own block, in a segment of their own.
static void test_out_takes_blocks(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    assert_true(out_copy(&out, slice_of("own")));
    block *given = block_take(&store);
    memcpy(given->data, "given", 5);
    out_give(&out, &given, 5);
    assert_null(given);
    assert_true(out_copy(&out, slice_of("more")));
    assert_int_equal(out.octets, 12);
    assert_int_equal(out.count, 3);
    assert_memory_equal(out_segment_at(&out, 1)->ptr, "given", 5);
    assert_ptr_equal(out_segment_at(&out, 2)->ptr, out_segment_at(&out, 0)->ptr + 3);
    out_pop(&out, 7);
    assert_int_equal(store.out_count, 2);
    out_pop(&out, 1);
    assert_int_equal(store.out_count, 1);
    assert_memory_equal(out_segment_at(&out, 0)->ptr, "more", 4);
    out_deinit(&out);
    block_store_deinit(&store);
}

static void test_out_says_how_many_segments_are_left(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    for (unsigned left = SEGMENTS - OUT_SEGMENTS_KEPT; left > 0; left--) {
        assert_int_equal(out_segments_left(&out), left);
        assert_false(out_is_full(&out));
        out_lend(&out, slice_of("x"), NULL, NULL);
    }
    assert_true(out_is_full(&out));
    assert_int_equal(out_segments_left(&out), 0);
    out_deinit(&out);
    block_store_deinit(&store);
}

static void push_from_release(void *user)
{
    assert_true(out_copy(user, slice_of("more")));
}

static void test_out_takes_octets_from_a_release(void **state)
{
    (void)state;
    block_store store;
    block_store_init(&store, 4);
    out_queue out;
    out_init(&out, &store, segments, SEGMENTS);
    assert_true(out_copy(&out, slice_of("head")));
    out_lend(&out, slice_of("content"), push_from_release, &out);
    out_pop(&out, 11);
    assert_int_equal(out.octets, 4);
    assert_int_equal(out.count, 1);
    assert_memory_equal(out_segment_at(&out, 0)->ptr, "more", 4);
    out_deinit(&out);
    block_store_deinit(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out_equals_a_string),
        cmocka_unit_test(test_out_extends_one_segment),
        cmocka_unit_test(test_out_starts_its_block_again_when_empty),
        cmocka_unit_test(test_out_rests_without_a_block),
        cmocka_unit_test(test_out_refuses_past_its_segments),
        cmocka_unit_test(test_out_releases_nothing_lent_at_once),
        cmocka_unit_test(test_out_takes_blocks),
        cmocka_unit_test(test_out_says_how_many_segments_are_left),
        cmocka_unit_test(test_out_takes_octets_from_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
