// SPDX-License-Identifier: MIT
//
// The HPACK encoder: what it writes for each kind of field, that a decoder reads the same from it,
// and that it is right without a table, with one that changes its size, and without memory.

#include "http/hpack_encode.h"

#include "http/hpack_decode.h"
#include "base/memory.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static void test_hpack_encode_kinds_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *wire; // of the value "v" for the second time
    } kinds[] = {
        { "Set-Cookie", "\x1f\x28\x01v" },
        { "authorization", "\x1f\x08\x01v" },
        { "cookie", "\x1f\x11\x01v" },
        { "www-authenticate", "\x1f\x2e\x01v" },
        { "proxy-authenticate", "\x1f\x21\x01v" },
        { "proxy-authorization", "\x1f\x22\x01v" },
        { "ETag", "\x0f\x13\x01v" },
        { "last-modified", "\x0f\x1d\x01v" },
        { "location", "\x0f\x1f\x01v" },
        { "content-range", "\x0f\x0f\x01v" },
        { "expires", "\x0f\x15\x01v" },
        { "age", "\x0f\x06\x01v" },
        { "date", "\x0f\x12\x01v" },
        { "content-length", "\x0f\x0d\x01v" },
        { "vary", "\xbe" },
        { "server", "\xbe" },
        { "content-type", "\xbe" },
        { "cache-control", "\xbe" },
        { "x-frame-options", "\xbe" },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        static talk t;
        char text[64];
        talk_begin(&t, TABLE_OCTETS);
        for (int round = 0; round < 2; round++) {
            block_begin(&t);
            put(&t, kinds[i].name, "v", HPACK_INDEXING_BY_NAME);
        }
        expect_wire(&t, kinds[i].wire, strlen(kinds[i].wire));
        size_t len = (size_t)snprintf(text, sizeof text, "%s: v\n", kinds[i].name);
        for (size_t c = 0; c < len; c++)
            text[c] = octet_lower(text[c]);
        if (t.wire[0] != '\xbe') expect_block(&t, text);
        talk_end(&t);
    }
}

// Names that the static table has not.
static void test_hpack_encode_kinds_of_other_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned first; // octet
    } kinds[] = {
        { "authentication-info", 0x10 }, { "proxy-authentication-info", 0x10 },
        { "content-digest", 0 },         { "repr-digest", 0 },
        { "server-timing", 0 },          { "traceparent", 0 },
        { "X-Request-ID", 0 },           { "x-request-ids", 0x40 },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        static talk t;
        talk_begin(&t, TABLE_OCTETS);
        block_begin(&t);
        put(&t, kinds[i].name, "v", HPACK_INDEXING_BY_NAME);
        assert_int_equal(t.wire[0], kinds[i].first);
        block_begin(&t);
        t.at = hpack_encode_plain(t.at, slice_of(kinds[i].name), SKUA_SLICE("v"));
        assert_int_equal(t.wire[0], kinds[i].first == 0x10 ? 0x10 : 0);
        talk_end(&t);
    }
}

static void test_hpack_encode_as_the_caller_says(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    block_begin(&t);
    put(&t, "vary", "accept", HPACK_INDEXING_NONE);
    put(&t, "vary", "accept", HPACK_INDEXING_NEVER);
    put(&t, "X", "y", HPACK_INDEXING_NEVER);
    EXPECT_WIRE(&t, "\x0f\x2c\x06"
                    "accept\x1f\x2c\x06"
                    "accept\x10\x01x\x01y");
    expect_block(&t, "vary: accept\nvary: accept\nx: y\n");
    assert_int_equal(memory.used, 0);
    talk_end(&t);
}

static void test_hpack_encode_entries_of_the_static_table(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    block_begin(&t);
    put(&t, "Accept-Encoding", "gzip, deflate", HPACK_INDEXING_BY_NAME);
    t.at = hpack_encode_known(&t.e, t.at, 16, SKUA_SLICE("gzip, deflate"));
    t.at = hpack_encode_plain(t.at, SKUA_SLICE(":method"), SKUA_SLICE("GET"));
    EXPECT_WIRE(&t, "\x90\x90\x82");
    expect_block(&t,
                 "accept-encoding: gzip, deflate\naccept-encoding: gzip, deflate\n:method: GET\n");
    talk_end(&t);
}

// Names that the caller knows are written as if it did not.
static void test_hpack_encode_known_names(void **state)
{
    (void)state;
    static talk one, other;
    talk_begin(&one, TABLE_OCTETS);
    talk_begin(&other, TABLE_OCTETS);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 15; i <= HPACK_STATIC_COUNT; i++) {
            slice value = round == 2 ? SKUA_SLICE("other") : SKUA_SLICE("a value of some length");
            block_begin(&one);
            block_begin(&other);
            slice name = hpack_static[i - 1].name;
            one.at = hpack_encode_known(&one.e, one.at, i, value);
            other.at = hpack_encode_field(&other.e, other.at, name, value, HPACK_INDEXING_BY_NAME);
            expect_wire(&one, other.wire, (size_t)(other.at - other.wire));
        }
    }
    talk_end(&one);
    talk_end(&other);
}

static void test_hpack_encode_lengths(void **state)
{
    (void)state;
    static const uint64_t lengths[] = { 0, 9, 10, 99, 100, 4096, 1000000, UINT64_MAX };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        static talk t;
        char text[64];
        talk_begin(&t, TABLE_OCTETS);
        block_begin(&t);
        t.at = hpack_encode_length(t.at, lengths[i]);
        assert_true(t.at - t.wire <= HPACK_LENGTH_OCTETS_MAX);
        snprintf(text, sizeof text, "content-length: %llu\n", (unsigned long long)lengths[i]);
        expect_block(&t, text);
        talk_end(&t);
    }
}

// A value that changes is sent without an index from the second one on, so that it does not push out
// what is worth more. When it has gone, the next one is added.
static void test_hpack_encode_values_that_change(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    for (int i = 0; i < 200; i++) {
        char value[16], text[64];
        snprintf(value, sizeof value, "%d", i);
        block_begin(&t);
        put(&t, "x-trace", value, HPACK_INDEXING_BY_NAME);
        snprintf(text, sizeof text, "x-trace: %d\n", i);
        expect_block(&t, text);
        assert_int_equal(hpack_table_count(&t.e.table), 1);
    }
    for (int i = 0; i < 200; i++) {
        char value[16], text[64];
        snprintf(value, sizeof value, "%d", i);
        block_begin(&t);
        put(&t, "vary", value, HPACK_INDEXING_BY_NAME); // the static table has the name
        snprintf(text, sizeof text, "vary: %d\n", i);
        expect_block(&t, text);
    }
    block_begin(&t);
    put(&t, "x-trace", "9", HPACK_INDEXING_BY_NAME);
    put(&t, "x-trace", "9", HPACK_INDEXING_BY_NAME);
    assert_int_equal(t.wire[0], 0x40);
    assert_int_equal((unsigned char)t.at[-1], 0xbe);
    expect_block(&t, "x-trace: 9\nx-trace: 9\n");
    talk_end(&t);
}

static void test_hpack_encode_large_fields(void **state)
{
    (void)state;
    static talk t;
    static char value[8001], text[9000];
    static const size_t lengths[] = { 0, 1, 126, 127, 128, 988, 989, 4096, 8000 };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        talk_begin(&t, TABLE_OCTETS);
        memset(value, '<', sizeof value); // is longer in Huffman's code
        value[lengths[i]] = '\0';
        block_begin(&t);
        put(&t, "vary", value, HPACK_INDEXING_BY_NAME); // 36 octets and the value's
        assert_int_equal(hpack_table_count(&t.e.table), lengths[i] <= 988);
        snprintf(text, sizeof text, "vary: %s\n", value);
        expect_block(&t, text);
        talk_end(&t);
    }
}

static void test_hpack_encode_names_of_each_length(void **state)
{
    (void)state;
    static talk t;
    char name[201], text[256];
    talk_begin(&t, TABLE_OCTETS);
    for (size_t len = 1; len < sizeof name; len++) {
        for (size_t i = 0; i < len; i++)
            name[i] = (char)((i % 2 ? 'A' : 'a') + (i * 7 + len) % 26);
        name[len] = '\0';
        size_t n = (size_t)snprintf(text, sizeof text, "%s: v\n", name);
        for (size_t i = 0; i < n; i++)
            text[i] = octet_lower(text[i]);
        for (int how = 0; how < 6; how++) {
            block_begin(&t);
            slice exact = slice_make(guarded_copy(name, len), len);
            if (how < 5)
                t.at = hpack_encode_field(&t.e, t.at, exact, SKUA_SLICE("v"),
                                          (hpack_indexing)(how % 3));
            else t.at = hpack_encode_plain(t.at, exact, SKUA_SLICE("v"));
            guarded_free((char *)(uintptr_t)exact.ptr, len);
            expect_block(&t, text);
        }
    }
    talk_end(&t);
}

// ---- The table's size ----

static void exchange(talk *t, const char *wire, size_t len)
{
    block_begin(t);
    expect_wire(t, wire, len);
    put(t, "vary", "accept", HPACK_INDEXING_BY_NAME);
    expect_block(t, "vary: accept\n");
}

#define EXCHANGE(t, literal) exchange((t), (literal), sizeof(literal) - 1)

static void test_hpack_encode_follows_the_peers_table(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    EXCHANGE(&t, "");
    hpack_encoder_resize(&t.e, 4096);
    EXCHANGE(&t, "");
    hpack_encoder_resize(&t.e, 1 << 20); // more than we use
    EXCHANGE(&t, "");
    hpack_encoder_resize(&t.e, 100);
    EXCHANGE(&t, "\x3f\x45");
    hpack_encoder_resize(&t.e, 0);
    EXCHANGE(&t, "\x20");
    assert_int_equal(hpack_table_count(&t.e.table), 0);
    EXCHANGE(&t, "");
    hpack_encoder_resize(&t.e, 4096);
    EXCHANGE(&t, "\x3f\xe1\x1f");
    assert_int_equal(hpack_table_count(&t.e.table), 1);
    hpack_encoder_resize(&t.e, 0); // the smallest in between and the last, RFC 7541 §4.2
    hpack_encoder_resize(&t.e, 50);
    hpack_encoder_resize(&t.e, 10);
    hpack_encoder_resize(&t.e, 4096);
    EXCHANGE(&t, "\x20\x3f\xe1\x1f");
    hpack_encoder_resize(&t.e, 60);
    hpack_encoder_resize(&t.e, 64);
    EXCHANGE(&t, "\x3f\x1d\x3f\x21");
    hpack_encoder_resize(&t.e, 200);
    EXCHANGE(&t, "\x3f\xa9\x01");
    talk_end(&t);
}

static void test_hpack_encode_uses_a_smaller_table(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, 0);
    EXCHANGE(&t, "\x20");
    EXCHANGE(&t, "");
    assert_int_equal(hpack_encoder_octets(&t.e), 0);
    talk_end(&t);
    talk_begin(&t, 256);
    hpack_encoder_resize(&t.e, 4096);
    EXCHANGE(&t, "\x3f\xe1\x01");
    EXCHANGE(&t, "");
    talk_end(&t);
}

static void test_hpack_encode_drops_its_table(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    hpack_encoder_drop(&t.e); // there is nothing in it
    EXCHANGE(&t, "");
    assert_true(hpack_encoder_octets(&t.e) > 0);
    for (int i = 0; i < 3; i++) {
        hpack_encoder_drop(&t.e);
        assert_int_equal(hpack_encoder_octets(&t.e), 0);
        if (i == 1) hpack_encoder_drop(&t.e);
        EXCHANGE(&t, "\x20\x3f\xe1\x1f");
        assert_int_equal(hpack_table_count(&t.e.table), 1);
        EXCHANGE(&t, "");
    }
    hpack_encoder_drop(&t.e);
    hpack_encoder_resize(&t.e, 0);
    EXCHANGE(&t, "\x20");
    talk_end(&t);
}

// ---- Without a table ----

// Two values that every response has, and the date of each second, whatever their hashes are.
static void test_hpack_encode_keeps_what_comes_again(void **state)
{
    (void)state;
    enum { VALUES = 300, SECONDS = 3 };
    static talk t;
    for (unsigned i = 0; i < VALUES; i++) {
        char type[16], control[24], date[32], text[160];
        snprintf(type, sizeof type, "text/%u", i);
        snprintf(control, sizeof control, "max-age=%u", 1000 + i * i);
        talk_begin(&t, TABLE_OCTETS);
        for (unsigned n = 0; n < SECONDS * 4; n++) {
            snprintf(date, sizeof date, "Mon, 23 Nov 2026 08:%02u:%02u GMT", i % 60, n / 4);
            block_begin(&t);
            t.at = hpack_encode_date(&t.e, t.at, slice_of(date));
            t.at = hpack_encode_known(&t.e, t.at, HPACK_STATIC_CONTENT_TYPE, slice_of(type));
            put(&t, "cache-control", control, HPACK_INDEXING_BY_NAME);
            put(&t, "x-own", control, HPACK_INDEXING_BY_NAME);
            if (n % 4) assert_int_equal(t.at - t.wire, 4);
            snprintf(text, sizeof text,
                     "date: %s\ncontent-type: %s\ncache-control: %s\nx-own: %s\n", date, type,
                     control, control);
            expect_block(&t, text);
        }
        talk_end(&t);
    }
}

static void test_hpack_encode_plain(void **state)
{
    (void)state;
    static talk t;
    talk_begin(&t, TABLE_OCTETS);
    block_begin(&t);
    t.at = hpack_encode_plain(t.at, SKUA_SLICE("Server"), SKUA_SLICE("www.example.com"));
    t.at = hpack_encode_plain(t.at, SKUA_SLICE("set-cookie"), SKUA_SLICE("<<"));
    t.at = hpack_encode_plain(t.at, SKUA_SLICE("Custom-Key"), SKUA_SLICE("custom-value"));
    EXPECT_WIRE(&t, "\x0f\x27\x8c\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"
                    "\x1f\x28\x02<<"
                    "\x00\x88\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f"
                    "\x89\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf");
    expect_block(&t, "server: www.example.com\nset-cookie: <<\ncustom-key: custom-value\n");
    talk_end(&t);
}

// ---- Everything at once ----

static uint64_t random_state;

static unsigned roll(unsigned below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(random_state >> 33) % below;
}

static void random_field(talk *t, char *text, size_t *len)
{
    static const char *const names[] = { "vary",         "x-a",  "x-b",  "set-cookie",
                                         "content-type", "etag", "link", "x-some-longer-name",
                                         "server",       "age" };
    static const char *const values[] = { "", "1", "accept", "text/html; charset=utf-8",
                                          "a much longer value with & | < all kinds of octets" };
    char value[80];
    const char *name = names[roll(sizeof names / sizeof *names)];
    int n = roll(3) ? 0 : (int)roll(1000);
    snprintf(value, sizeof value, "%s%.*d", values[roll(5)], n ? 4 : 0, n);
    put(t, name, value, (hpack_indexing)(roll(8) ? 0 : roll(3)));
    *len += (size_t)snprintf(text + *len, WIRE_OCTETS - *len, "%s: %s\n", name, value);
}

static void random_blocks(talk *t, unsigned rounds)
{
    static char text[WIRE_OCTETS];
    for (unsigned round = 0; round < rounds; round++) {
        size_t len = 0;
        if (roll(20) == 0) hpack_encoder_resize(&t->e, roll(4200));
        if (roll(20) == 0) hpack_encoder_drop(&t->e);
        if (roll(40) == 0) hpack_encoder_resize(&t->e, 4096);
        block_begin(t);
        for (unsigned i = roll(12); i > 0; i--)
            random_field(t, text, &len);
        text[len] = '\0';
        expect_block(t, text);
    }
}

static void test_hpack_encode_random_blocks(void **state)
{
    (void)state;
    static talk t;
    static const unsigned sizes[] = { 4096, 0, 40, 100, 300, 1000 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        random_state = i;
        talk_begin(&t, sizes[i]);
        random_blocks(&t, 1500);
        talk_end(&t);
    }
}

// ---- Memory that runs out ----

static unsigned failing_permille, failing_rolls;

static void *failing_alloc(size_t octets, void *user)
{
    (void)user;
    failing_rolls = failing_rolls * 1103515245u + 12345u;
    return (failing_rolls >> 16) % 1000 < failing_permille ? NULL : malloc(octets);
}

static void *failing_resize(void *old, size_t octets, void *user)
{
    (void)user;
    return realloc(old, octets);
}

static void failing_free(void *old, void *user)
{
    (void)user;
    free(old);
}

// The decoder's memory is of the same kind, so it goes on only while there is some.
static void test_hpack_encode_needs_no_memory(void **state)
{
    (void)state;
    static const skua_allocator failing = { failing_alloc, failing_resize, failing_free, NULL };
    static talk t;
    assert_true(memory_join(&failing));
    talk_begin(&t, TABLE_OCTETS);
    for (unsigned round = 0; round < 400; round++) {
        if (round % 50 == 0) hpack_encoder_drop(&t.e);
        block_begin(&t);
        failing_permille = 700;
        char value[8];
        snprintf(value, sizeof value, "%u", round % 60);
        t.at = hpack_encode_other_status(&t.e, t.at, 300 + (int)(round % 99));
        put(&t, "vary", value, HPACK_INDEXING_BY_NAME);
        put(&t, "x-a", "1", HPACK_INDEXING_BY_NAME);
        failing_permille = 0;
        char text[64];
        unsigned status = 300 + round % 99;
        snprintf(text, sizeof text, ":status: %u\nvary: %s\nx-a: 1\n", status, value);
        expect_block(&t, text);
    }
    talk_end(&t);
    memory_leave();
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
        cmocka_unit_test(test_hpack_encode_kinds_by_name),
        cmocka_unit_test(test_hpack_encode_kinds_of_other_names),
        cmocka_unit_test(test_hpack_encode_as_the_caller_says),
        cmocka_unit_test(test_hpack_encode_entries_of_the_static_table),
        cmocka_unit_test(test_hpack_encode_known_names),
        cmocka_unit_test(test_hpack_encode_lengths),
        cmocka_unit_test(test_hpack_encode_values_that_change),
        cmocka_unit_test(test_hpack_encode_large_fields),
        cmocka_unit_test(test_hpack_encode_names_of_each_length),
        cmocka_unit_test(test_hpack_encode_follows_the_peers_table),
        cmocka_unit_test(test_hpack_encode_uses_a_smaller_table),
        cmocka_unit_test(test_hpack_encode_drops_its_table),
        cmocka_unit_test(test_hpack_encode_keeps_what_comes_again),
        cmocka_unit_test(test_hpack_encode_plain),
        cmocka_unit_test(test_hpack_encode_random_blocks),
        cmocka_unit_test(test_hpack_encode_needs_no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
