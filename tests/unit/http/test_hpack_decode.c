// SPDX-License-Identifier: MIT
//
// The HPACK decoder: the examples of RFC 7541, every way in which a block can be wrong, and each
// block cut at every octet. All blocks end at a forbidden page.

#include "http/hpack_decode.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { WIRE_OCTETS = 8192, STRING_OCTETS = 16384, TABLE_OCTETS = 4096 };

static budget whole;
static lease memory;

typedef struct seen {
    hpack_event end;
    unsigned count;
    hpack_field fields[32]; // without their slices
    char text[16384];       // "name: value\n" of each
    size_t len;
} seen;

static size_t from_hex(const char *hex, char *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0, nibbles = 0;
    for (; *hex; hex++) {
        const char *digit = memchr(digits, *hex, 16);
        if (!digit) continue;
        unsigned value = (unsigned)(digit - digits);
        if (nibbles++ % 2) out[n++] |= (char)value;
        else out[n] = (char)(value << 4);
    }
    return n;
}

static void keep(seen *s, slice text)
{
    assert_true(s->len + text.len + 2 < sizeof s->text);
    if (text.len) memcpy(s->text + s->len, text.ptr, text.len);
    s->len += text.len;
}

static void decode(hpack_decoder *d, slice block, seen *s)
{
    char *guarded = guarded_copy(block.ptr, block.len);
    hpack_field field;
    s->count = 0;
    s->len = 0;
    hpack_decoder_begin(d, slice_make(guarded, block.len));
    while ((s->end = hpack_decoder_next(d, &field)) == HPACK_FIELD) {
        assert_true(s->count < sizeof s->fields / sizeof *s->fields);
        s->fields[s->count++] = field;
        if (!(field.flags & HPACK_IS_TOO_LONG))
            assert_int_equal(field.octets, field.name.len + field.value.len + 32);
        keep(s, field.name);
        keep(s, slice_of(": "));
        keep(s, field.value);
        keep(s, slice_of("\n"));
    }
    s->text[s->len] = '\0';
    guarded_free(guarded, block.len);
}

static void decode_hex(hpack_decoder *d, const char *hex, seen *s)
{
    static char wire[WIRE_OCTETS];
    size_t len = from_hex(hex, wire);
    decode(d, slice_make(wire, len), s);
}

static void begin(hpack_decoder *d, uint32_t table_octets)
{
    hpack_decoder_init(d, &memory, table_octets, STRING_OCTETS);
}

static void end(hpack_decoder *d)
{
    hpack_decoder_deinit(d);
    assert_int_equal(hpack_decoder_octets(d), 0);
    assert_int_equal(memory.used, 0);
}

// ---- RFC 7541, Appendix C ----

typedef struct example {
    const char *hex, *text;
    const char *table; // "name: value\n" of each entry, the newest first
    uint32_t size;
} example;

#define REQUEST_1 ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
#define REQUEST_2 REQUEST_1 "cache-control: no-cache\n"
#define REQUEST_3                                                                                  \
    ":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"              \
    "custom-key: custom-value\n"
#define REQUEST_TABLE_1 ":authority: www.example.com\n"
#define REQUEST_TABLE_2 "cache-control: no-cache\n" REQUEST_TABLE_1
#define REQUEST_TABLE_3 "custom-key: custom-value\n" REQUEST_TABLE_2

static const example requests[] = {
    { "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUEST_1, REQUEST_TABLE_1, 57 },
    { "8286 84be 5808 6e6f 2d63 6163 6865", REQUEST_2, REQUEST_TABLE_2, 110 },
    { "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUEST_3,
      REQUEST_TABLE_3, 164 },
};

static const example requests_in_huffman[] = {
    { "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUEST_1, REQUEST_TABLE_1, 57 },
    { "8286 84be 5886 a8eb 1064 9cbf", REQUEST_2, REQUEST_TABLE_2, 110 },
    { "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUEST_3, REQUEST_TABLE_3,
      164 },
};

#define DATE "date: Mon, 21 Oct 2013 20:13:21 GMT\n"
#define PLACE "location: https://www.example.com\n"
#define RESPONSE_1 ":status: 302\ncache-control: private\n" DATE PLACE
#define RESPONSE_2 ":status: 307\ncache-control: private\n" DATE PLACE
#define RESPONSE_3                                                                                 \
    ":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n" PLACE            \
    "content-encoding: gzip\n"                                                                     \
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"
#define RESPONSE_TABLE_1 PLACE DATE "cache-control: private\n:status: 302\n"
#define RESPONSE_TABLE_2 ":status: 307\n" PLACE DATE "cache-control: private\n"
#define RESPONSE_TABLE_3                                                                           \
    "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"                       \
    "content-encoding: gzip\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n"

static const example responses[] = {
    { "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a"
      "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
      RESPONSE_1, RESPONSE_TABLE_1, 222 },
    { "4803 3330 37c1 c0bf", RESPONSE_2, RESPONSE_TABLE_2, 222 },
    { "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04"
      "677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49"
      "553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
      RESPONSE_3, RESPONSE_TABLE_3, 215 },
};

static const example responses_in_huffman[] = {
    { "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e"
      "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
      RESPONSE_1, RESPONSE_TABLE_1, 222 },
    { "4883 640e ffc1 c0bf", RESPONSE_2, RESPONSE_TABLE_2, 222 },
    { "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7"
      "821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed"
      "4ee5 b106 3d50 07",
      RESPONSE_3, RESPONSE_TABLE_3, 215 },
};

static void show_table(const hpack_decoder *d, seen *s)
{
    s->len = 0;
    for (unsigned i = 0; i < hpack_table_count(&d->table); i++) {
        const hpack_entry *entry = hpack_table_at(&d->table, i);
        keep(s, hpack_table_name(&d->table, entry));
        keep(s, slice_of(": "));
        keep(s, hpack_table_value(&d->table, entry));
        keep(s, slice_of("\n"));
    }
    s->text[s->len] = '\0';
}

static void expect_examples(const example *examples, size_t count, uint32_t table_octets)
{
    static seen s;
    hpack_decoder d;
    begin(&d, table_octets);
    for (size_t i = 0; i < count; i++) {
        decode_hex(&d, examples[i].hex, &s);
        assert_int_equal(s.end, HPACK_END);
        assert_string_equal(s.text, examples[i].text);
        assert_int_equal(d.table.size, examples[i].size);
        show_table(&d, &s);
        assert_string_equal(s.text, examples[i].table);
    }
    end(&d);
}

static void test_hpack_examples_of_requests(void **state)
{
    (void)state;
    expect_examples(requests, 3, TABLE_OCTETS);
    expect_examples(requests_in_huffman, 3, TABLE_OCTETS);
}

static void test_hpack_examples_of_responses(void **state)
{
    (void)state;
    expect_examples(responses, 3, 256);
    expect_examples(responses_in_huffman, 3, 256);
}

static void test_hpack_examples_of_fields(void **state)
{
    (void)state;
    static const example fields[] = {
        { "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
          "custom-key: custom-header\n", "custom-key: custom-header\n", 55 },
        { "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n", "", 0 },
        { "1008 7061 7373 776f 7264 0673 6563 7265 74", "password: secret\n", "", 0 },
        { "82", ":method: GET\n", "", 0 },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        expect_examples(&fields[i], 1, TABLE_OCTETS);
}

// ---- Blocks that are wrong ----

static const struct {
    const char *name, *hex;
} broken[] = {
    { "index 0", "80" },
    { "an index of no entry", "be" },
    { "a large index of no entry", "ff8001" },
    { "the largest index", "ff80ffffff0f" },
    { "an index that is cut", "ff" },
    { "an index that is cut later", "ff80" },
    { "an index above 2^32 - 1", "ff81ffffff0f" },
    { "an index above 2^32 - 1 by its last octet", "ffffffffff10" },
    { "an index of six octets", "ff808080808000" },
    { "a name's index of no entry", "7e0161" },
    { "a name's index of no entry, not added", "0f2f0161" },
    { "a name's index that is cut", "7f" },
    { "no name", "40" },
    { "no value", "4101" },
    { "no value's length", "400161" },
    { "a name that is cut", "400261" },
    { "a value that is cut", "4001610261" },
    { "a length above 2^32 - 1", "40ffffffffff7f" },
    { "a length that is far more than there is", "407fffffff0761" },
    { "a name that ends with EOS", "4084ffffffff0161" },
    { "a value that is padded with zeros", "4001618100" },
    { "a value that is padded with an octet", "400161821fff" },
    { "a size update behind a field", "8220" },
    { "a size update above the limit", "3fe21f" },
    { "a size update that is cut", "3f" },
    { "three size updates", "202020" },
    { "a size update of more than 2^32 - 1", "3fffffffff7f" },
};

static void test_hpack_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        static seen s;
        hpack_decoder d;
        begin(&d, TABLE_OCTETS);
        decode_hex(&d, broken[i].hex, &s);
        if (s.end != HPACK_FAULT) fail_msg("%s: %s", broken[i].name, s.text);
        end(&d);
    }
}

// Where a field ends, the block may; anywhere else it is a fault.
static void expect_cut(const example *examples, size_t count, uint32_t table_octets)
{
    static char wire[WIRE_OCTETS];
    static seen full, cut;
    for (size_t last = 0; last < count; last++) {
        size_t len = from_hex(examples[last].hex, wire);
        for (size_t split = 0; split <= len; split++) {
            hpack_decoder d;
            begin(&d, table_octets);
            for (size_t i = 0; i < last; i++)
                decode_hex(&d, examples[i].hex, &full);
            decode(&d, slice_make(wire, split), &cut);
            assert_true(cut.end == HPACK_END || cut.end == HPACK_FAULT);
            assert_memory_equal(cut.text, examples[last].text, cut.len);
            if (cut.end == HPACK_END) {
                decode(&d, slice_make(wire + split, len - split), &full);
                assert_int_equal(full.end, HPACK_END);
                assert_string_equal(full.text, examples[last].text + cut.len);
            }
            end(&d);
        }
    }
}

static void test_hpack_blocks_cut_at_every_octet(void **state)
{
    (void)state;
    expect_cut(requests, 3, TABLE_OCTETS);
    expect_cut(requests_in_huffman, 3, TABLE_OCTETS);
    expect_cut(responses, 3, 256);
    expect_cut(responses_in_huffman, 3, 256);
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
        cmocka_unit_test(test_hpack_examples_of_requests),
        cmocka_unit_test(test_hpack_examples_of_responses),
        cmocka_unit_test(test_hpack_examples_of_fields),
        cmocka_unit_test(test_hpack_faults),
        cmocka_unit_test(test_hpack_blocks_cut_at_every_octet),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
