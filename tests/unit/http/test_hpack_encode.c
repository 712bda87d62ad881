// SPDX-License-Identifier: MIT
//
// The HPACK encoder: what it writes for each kind of field, that a decoder reads the same from it,
// and that it is right without a table, with one that changes its size, and without memory.

#include "http/hpack_encode.h"

#include "http/hpack_decode.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { WIRE_OCTETS = 16384, TABLE_OCTETS = 4096 };

static budget whole;
static lease memory;

// An encoder, and the decoder at the other end.
typedef struct talk {
    hpack_encoder e;
    hpack_decoder d;
    char wire[WIRE_OCTETS];
    char *at;
} talk;

static void talk_begin(talk *t, uint32_t table_octets)
{
    hpack_encoder_init(&t->e, &memory, table_octets);
    hpack_decoder_init(&t->d, &memory, TABLE_OCTETS, WIRE_OCTETS);
}

static void talk_end(talk *t)
{
    hpack_encoder_deinit(&t->e);
    hpack_decoder_deinit(&t->d);
    assert_int_equal(hpack_encoder_octets(&t->e), 0);
    assert_int_equal(memory.used, 0);
}

static void block_begin(talk *t)
{
    t->at = hpack_encode_begin(&t->e, t->wire);
    assert_true(t->at - t->wire <= HPACK_BEGIN_OCTETS_MAX);
}

static void put(talk *t, const char *name, const char *value, hpack_indexing how)
{
    slice n = slice_of(name), v = slice_of(value);
    char *before = t->at;
    t->at = hpack_encode_field(&t->e, t->at, n, v, how);
    assert_true((size_t)(t->at - before) <= hpack_encode_room(n, v));
}

// Expects the block to be these fields, "name: value\n" each, and the tables to be the same.
static void expect_block(talk *t, const char *text)
{
    char seen[WIRE_OCTETS];
    size_t len = 0;
    hpack_field field;
    hpack_event event;
    char *guarded = guarded_copy(t->wire, (size_t)(t->at - t->wire));
    hpack_decoder_begin(&t->d, slice_make(guarded, (size_t)(t->at - t->wire)));
    while ((event = hpack_decoder_next(&t->d, &field)) == HPACK_FIELD) {
        len += (size_t)snprintf(seen + len, sizeof seen - len, "%.*s: %.*s\n", (int)field.name.len,
                                field.name.ptr, (int)field.value.len, field.value.ptr);
        assert_true(len < sizeof seen);
        assert_true(field.flags & HPACK_NAME_IS_VALID);
    }
    guarded_free(guarded, (size_t)(t->at - t->wire));
    seen[len] = '\0';
    assert_int_equal(event, HPACK_END);
    assert_string_equal(seen, text);
    assert_int_equal(t->d.table.size, t->e.table.size);
    assert_int_equal(hpack_table_count(&t->d.table), hpack_table_count(&t->e.table));
}

static void expect_wire(const talk *t, const char *wire, size_t len)
{
    assert_int_equal(t->at - t->wire, len);
    assert_memory_equal(t->wire, wire, len);
}

#define EXPECT_WIRE(t, literal) expect_wire((t), (literal), sizeof(literal) - 1)

static void test_hpack_encode_common_response(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    for (int round = 0; round < 2; round++) {
        block_begin(&t);
        t.at = hpack_encode_status(&t.e, t.at, 200);
        put(&t, "date", "Mon, 21 Oct 2013 20:13:21 GMT", HPACK_INDEXING_BY_NAME);
        put(&t, "Content-Type", "text/plain", HPACK_INDEXING_BY_NAME);
        put(&t, "content-length", "13", HPACK_INDEXING_BY_NAME);
        expect_block(&t, ":status: 200\ndate: Mon, 21 Oct 2013 20:13:21 GMT\n"
                         "content-type: text/plain\ncontent-length: 13\n");
    }
    EXPECT_WIRE(&t, "\x88\x0f\x12\x1dMon, 21 Oct 2013 20:13:21 GMT\xbe\x0f\x0d\x02"
                    "13");
    talk_end(&t);
}

static void test_hpack_encode_every_status(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    for (int status = 100; status <= 999; status++) {
        char text[32];
        snprintf(text, sizeof text, ":status: %d\n", status);
        for (int round = 0; round < 2; round++) {
            block_begin(&t);
            t.at = hpack_encode_status(&t.e, t.at, status);
            assert_true(t.at - t.wire <= HPACK_STATUS_OCTETS_MAX);
            if (round) assert_int_equal(t.at - t.wire, 1);
            expect_block(&t, text);
        }
    }
    talk_end(&t);
}

static int setup(void **state)
{
    (void)state;
    budget_init(&whole, 1 << 24, 1);
    lease_init(&memory, &whole, 0, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    lease_end(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpack_encode_common_response),
        cmocka_unit_test(test_hpack_encode_every_status),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
