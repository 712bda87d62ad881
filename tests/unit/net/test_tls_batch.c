// SPDX-License-Identifier: MIT
//
// Batches of records: small and large ones beside each other, content that ends before the room
// does, and too few blocks. And what a cursor reads to the places of one: memory, then files.

#include "net/tls_batch.h"

#include "support/support.h"
#include "support/tls.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

enum { SMALL = 1340, LARGE = BLOCK_OCTETS - TLS_AROUND_OCTETS, OCTETS = 300000, SEGMENTS = 40 };

static tls_contexts contexts;
static tls_ends ends;
static block_store store;
static out_segment segments[SEGMENTS];
static out_queue wire;
static char octets[OCTETS];

static char pattern(size_t i)
{
    return (char)(uint8_t)(i * 7 + i / 251);
}

static int rig_open(void **state)
{
    (void)state;
    for (size_t i = 0; i < OCTETS; i++)
        octets[i] = pattern(i);
    if (!tls_contexts_init(&contexts, NULL)) return 1;
    block_store_init(&store, 64);
    out_init(&wire, &store, segments, SEGMENTS);
    return !tls_ends_init(&ends, &contexts, &contexts, TLS_SUITE_AES_128_GCM_SHA256, 1);
}

static int rig_close(void **state)
{
    (void)state;
    out_deinit(&wire);
    assert_int_equal(store.out_count, 0); // also those that were not needed
    block_store_deinit(&store);
    tls_ends_wipe(&ends);
    tls_contexts_deinit(&contexts);
    return 0;
}

// Fills the room of a batch with the pattern, from an octet of it on.
static void batch_fill(tls_batch *b, size_t from)
{
    for (unsigned i = 0; i < b->count; i++) {
        memcpy(b->contents[i].iov_base, octets + from, b->contents[i].iov_len);
        from += b->contents[i].iov_len;
    }
}

// Opens the records on the wire, which hold the pattern.  Returns: how many.
static unsigned wire_open(size_t len)
{
    static char copy[OCTETS + OCTETS / 8];
    size_t at = 0, opened = 0;
    unsigned records = 0;
    for (unsigned i = 0; i < wire.count; i++) {
        const out_segment *segment = out_segment_at(&wire, i);
        memcpy(copy + at, segment->ptr, segment->len);
        at += segment->len;
    }
    assert_int_equal(at, wire.octets);
    for (char *record = copy; record < copy + at; records++) {
        const uint8_t *header = (const uint8_t *)record;
        size_t whole = TLS_HEADER_OCTETS + ((size_t)header[3] << 8 | header[4]);
        slice inner;
        assert_int_equal(tls_open(&ends.client, record, whole, &inner), TLS_OPENED);
        assert_memory_equal(inner.ptr, octets + opened, inner.len - 1);
        opened += inner.len - 1;
        record += whole;
    }
    assert_int_equal(opened, len);
    return records;
}

static void expect_batch(unsigned small, unsigned large, size_t len, unsigned blocks,
                         unsigned records)
{
    tls_batch b;
    assert_int_equal(rig_open(NULL), 0);
    tls_batch_init(&b, &store, out_segments_left(&wire));
    for (unsigned i = 0; i < small + large; i++)
        assert_true(tls_batch_add(&b, i < small ? SMALL : LARGE));
    batch_fill(&b, 0);
    assert_true(tls_batch_seal(&b, &ends.server, len, &wire));
    tls_batch_deinit(&b);
    assert_int_equal(wire.count, blocks);
    assert_int_equal(store.out_count, blocks);
    assert_int_equal(wire_open(len), records);
    assert_int_equal(rig_close(NULL), 0);
}

static void test_records_lie_as_close_as_they_fit(void **state)
{
    (void)state;
    expect_batch(1, 0, 1, 1, 1);
    expect_batch(1, 0, SMALL, 1, 1);
    expect_batch(12, 0, 12 * SMALL, 1, 12); // as many as a block has room for
    expect_batch(13, 0, 13 * SMALL, 2, 13);
    expect_batch(13, 15, 13 * SMALL + 15 * LARGE, 17, 28); // a flight after a rest
    expect_batch(0, 16, 16 * LARGE, 16, 16);
}

static void test_content_that_ends_earlier(void **state)
{
    (void)state;
    expect_batch(13, 15, SMALL + 1, 1, 2);
    expect_batch(13, 15, 12 * SMALL, 1, 12);
    expect_batch(13, 15, 12 * SMALL + 1, 2, 13);
    expect_batch(0, 16, LARGE + 1, 2, 2);
    expect_batch(0, 16, 16 * LARGE - 1, 16, 16);
}

static unsigned records_that_fit(unsigned blocks, size_t len)
{
    tls_batch b;
    unsigned n = 0;
    tls_batch_init(&b, &store, blocks);
    while (tls_batch_add(&b, len))
        n++;
    tls_batch_deinit(&b);
    return n;
}

static void test_no_more_than_there_is_room_for(void **state)
{
    (void)state;
    assert_int_equal(rig_open(NULL), 0);
    assert_int_equal(records_that_fit(0, 1), 0);
    assert_int_equal(records_that_fit(1, LARGE), 1);
    assert_int_equal(records_that_fit(3, LARGE), 3);
    assert_int_equal(records_that_fit(SEGMENTS, LARGE), TLS_BATCH_BLOCKS);
    assert_int_equal(records_that_fit(SEGMENTS, 1), TLS_BATCH_RECORDS);
    assert_int_equal(rig_close(NULL), 0);
}

// ---- What is read to them ----

static int file_of_pattern(size_t len)
{
    char path[] = "/tmp/skua-batch-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(write(fd, octets, len), len);
    return fd;
}

// The queue is read in a loop that nobody loads files for, so that reading waits where it has to.
static ssize_t copy(tls_cursor *c, struct iovec *places, unsigned count)
{
    io_loop loop = { 0 };
    io_stream stream = { 0 };
    tls_flight flight = { .loaded_file = -1 };
    return tls_cursor_copy(c, &loop, &stream, &flight, places, count);
}

static unsigned places_of(char *room, size_t each, unsigned count, struct iovec *places)
{
    for (unsigned i = 0; i < count; i++)
        places[i] = (struct iovec){ .iov_base = room + i * each, .iov_len = each };
    return count;
}

static void test_memory_and_a_file_fill_places_in_turn(void **state)
{
    (void)state;
    static char room[OCTETS];
    struct iovec places[TLS_PLACES_MAX];
    assert_int_equal(rig_open(NULL), 0);
    int fd = file_of_pattern(100000);
    out_lend(&wire, slice_make(octets, 10), NULL, NULL);
    out_lend(&wire, slice_make(octets + 10, 5), NULL, NULL);
    out_file(&wire, fd, 15, 985, NULL, NULL);
    tls_cursor c = { .queue = &wire };
    assert_int_equal(copy(&c, places, places_of(room, 300, 2, places)), 600);
    assert_memory_equal(room, octets, 600);
    assert_int_equal(copy(&c, places, places_of(room, 300, 32, places)), 400);
    assert_memory_equal(room, octets + 600, 400);
    assert_int_equal(copy(&c, places, places_of(room, 300, 1, places)), 0);
    close(fd);
    assert_int_equal(rig_close(NULL), 0);
}

// Behind a file, memory goes on in a place that was begun, and is left where it would begin one.
static void test_memory_behind_a_file(void **state)
{
    (void)state;
    static char room[OCTETS];
    struct iovec places[TLS_PLACES_MAX];
    assert_int_equal(rig_open(NULL), 0);
    int fd = file_of_pattern(1000);
    out_file(&wire, fd, 0, 1000, NULL, NULL);
    out_lend(&wire, slice_make(octets + 1000, 500), NULL, NULL);
    tls_cursor c = { .queue = &wire };
    assert_int_equal(copy(&c, places, places_of(room, 300, 8, places)), 1200);
    assert_memory_equal(room, octets, 1200);
    c = (tls_cursor){ .queue = &wire };
    assert_int_equal(copy(&c, places, places_of(room, 250, 8, places)), 1000);
    assert_int_equal(c.segment, 1);
    close(fd);
    assert_int_equal(rig_close(NULL), 0);
}

static void test_a_file_that_is_shorter_than_was_said(void **state)
{
    (void)state;
    static char room[OCTETS];
    struct iovec places[TLS_PLACES_MAX];
    assert_int_equal(rig_open(NULL), 0);
    int fd = file_of_pattern(1000);
    out_file(&wire, fd, 0, 1001, NULL, NULL);
    tls_cursor c = { .queue = &wire };
    assert_int_equal(copy(&c, places, places_of(room, 300, 8, places)), -1);
    close(fd);
    assert_int_equal(rig_close(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_lie_as_close_as_they_fit),
        cmocka_unit_test(test_content_that_ends_earlier),
        cmocka_unit_test(test_no_more_than_there_is_room_for),
        cmocka_unit_test(test_memory_and_a_file_fill_places_in_turn),
        cmocka_unit_test(test_memory_behind_a_file),
        cmocka_unit_test(test_a_file_that_is_shorter_than_was_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
