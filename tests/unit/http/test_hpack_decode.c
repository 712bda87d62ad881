// SPDX-License-Identifier: MIT
//
// The HPACK decoder: the examples of RFC 7541, every way in which a block can be wrong, and each
// block cut at every octet. All blocks end at a forbidden page.

#include "http/hpack_decode.h"

#include "base/memory.h"
#include "http/huffman.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    { "an index of 2^32 + 2", "ff83ffffff0f" },
    { "a size update of 2^32", "3fe1ffffff0f" },
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

// ---- Integers at their edges ----

// Puts an integer with redundant octets behind it, as far as there may be any.
static size_t put_integer(char *at, unsigned first, unsigned prefix, uint32_t n, unsigned redundant)
{
    size_t len = 1;
    if (n < prefix) {
        at[0] = (char)(first | n);
        return 1;
    }
    at[0] = (char)(first | prefix);
    for (n -= prefix; n >= 0x80 || redundant; n >>= 7) {
        if (n == 0) redundant--;
        at[len++] = (char)(0x80 | (n & 0x7f));
    }
    at[len++] = (char)n;
    return len;
}

static void test_hpack_lengths_at_their_edges(void **state)
{
    (void)state;
    static const uint32_t lengths[] = { 0, 1, 126, 127, 128, 254, 255, 256, 4000, 7000 };
    static char wire[WIRE_OCTETS];
    static seen s;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (unsigned redundant = 0; redundant < 3; redundant++) {
            hpack_decoder d;
            begin(&d, TABLE_OCTETS);
            size_t at = 1;
            wire[0] = 0x04; // :path
            at += put_integer(wire + at, 0, 0x7f, lengths[i], redundant);
            memset(wire + at, 'x', lengths[i]);
            decode(&d, slice_make(wire, at + lengths[i]), &s);
            assert_int_equal(s.end, HPACK_END);
            assert_int_equal(s.fields[0].value.len, lengths[i]);
            if (lengths[i]) {
                decode(&d, slice_make(wire, at + lengths[i] - 1), &s);
                assert_int_equal(s.end, HPACK_FAULT);
            }
            end(&d);
        }
    }
}

// Five octets behind the prefix are taken whatever they say, and no sixth.
static void test_hpack_redundant_octets_are_bounded(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, "04 ff8080808000", &s);
    assert_int_equal(s.end, HPACK_FAULT); // 127 octets are missing
    end(&d);
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, "3fe19f808000 82", &s); // 4,096
    assert_int_equal(s.end, HPACK_END);
    assert_string_equal(s.text, ":method: GET\n");
    end(&d);
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, "3fe19f80808000 82", &s);
    assert_int_equal(s.end, HPACK_FAULT);
    end(&d);
}

static void test_hpack_every_index(void **state)
{
    (void)state;
    static char wire[WIRE_OCTETS];
    static seen s;
    hpack_decoder d;
    begin(&d, TABLE_OCTETS);
    for (unsigned i = 0; i < 112; i++) { // "nnn: v", 36 octets each
        char field[] = "\x40\x03"
                       "000"
                       "\x01v";
        field[2] = (char)('0' + i / 100);
        field[3] = (char)('0' + i / 10 % 10);
        field[4] = (char)('0' + i % 10);
        decode(&d, slice_make(field, sizeof field - 1), &s);
        assert_int_equal(s.end, HPACK_END);
    }
    for (uint32_t index = 0; index < 300; index++) {
        decode(&d, slice_make(wire, put_integer(wire, 0x80, 0x7f, index, 0)), &s);
        assert_int_equal(s.end, index >= 1 && index < 62 + 112 ? HPACK_END : HPACK_FAULT);
        if (index < 62 || s.end == HPACK_FAULT) continue;
        char expected[16];
        snprintf(expected, sizeof expected, "%03u: v\n", 111 - (unsigned)(index - 62));
        assert_string_equal(s.text, expected);
    }
    end(&d);
}

// ---- Size updates ----

static void test_hpack_size_updates(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, requests[0].hex, &s);
    assert_int_equal(d.table.size, 57);
    decode_hex(&d, "3f1a be", &s); // 57
    assert_string_equal(s.text, REQUEST_TABLE_1);
    decode_hex(&d, "3f19 be", &s); // 56
    assert_int_equal(s.end, HPACK_FAULT);
    assert_int_equal(d.size_updates, 2);
    decode_hex(&d, "20 3fe11f", &s); // an end without a field, 0 and 4,096
    assert_int_equal(s.end, HPACK_END);
    assert_int_equal(s.count, 0);
    assert_int_equal(d.size_updates, 4);
    decode_hex(&d, requests[0].hex, &s);
    assert_int_equal(d.table.size, 57);
    decode_hex(&d, "", &s);
    assert_int_equal(s.end, HPACK_END);
    decode_hex(&d, "20", &s);
    hpack_decoder_rest(&d);
    assert_int_equal(hpack_decoder_octets(&d), 0);
    decode_hex(&d, requests[0].hex, &s); // has no room in a table of 0
    assert_string_equal(s.text, REQUEST_1);
    assert_int_equal(d.table.size, 0);
    end(&d);
}

static void test_hpack_size_updates_in_a_smaller_table(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, 100);
    decode_hex(&d, "3f45 82", &s); // 100
    assert_int_equal(s.end, HPACK_END);
    decode_hex(&d, "3f46 82", &s); // 101
    assert_int_equal(s.end, HPACK_FAULT);
    end(&d);
}

// A larger table is the peer's to ask for.
static void test_hpack_size_updates_in_a_larger_table(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, 16384);
    assert_int_equal(d.table.size_max, 4096);
    decode_hex(&d, "3fe17f 82", &s); // 16,384
    assert_int_equal(s.end, HPACK_END);
    assert_int_equal(d.table.size_max, 16384);
    decode_hex(&d, "3fe27f 82", &s);
    assert_int_equal(s.end, HPACK_FAULT);
    end(&d);
}

// ---- Fields ----

// A name is taken from the entry that goes to make room for the field, RFC 7541 §4.4.
static void test_hpack_name_of_an_entry_that_goes(void **state)
{
    (void)state;
    static seen s;
    for (unsigned size = 38; size < 60; size++) {
        hpack_decoder d;
        begin(&d, size);
        decode_hex(&d, "40 056e616d6531 00  7e 0176", &s); // "name1: ", "name1: v"
        assert_int_equal(s.end, HPACK_END);
        assert_string_equal(s.text, "name1: \nname1: v\n");
        decode_hex(&d, "be", &s);
        assert_string_equal(s.text, "name1: v\n");
        assert_int_equal(hpack_table_count(&d.table), 1);
        end(&d);
    }
}

static void test_hpack_entries_too_large_empty_the_table(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, 64);
    decode_hex(&d, "40 0161 0162 be", &s);
    assert_string_equal(s.text, "a: b\na: b\n");
    assert_true(hpack_decoder_octets(&d) > 0);
    // 33 octets and 32
    decode_hex(&d, "7e 20 6161616161616161616161616161616161616161616161616161616161616161", &s);
    assert_string_equal(s.text, "a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
    hpack_decoder_rest(&d);
    assert_int_equal(hpack_decoder_octets(&d), 0);
    decode_hex(&d, "be", &s);
    assert_int_equal(s.end, HPACK_FAULT);
    decode_hex(&d, "40 0161 1f 61616161616161616161616161616161616161616161616161616161616161 be",
               &s);
    assert_int_equal(s.end, HPACK_END);
    assert_int_equal(d.table.size, 64);
    end(&d);
}

static void test_hpack_fields_know_what_they_are(void **state)
{
    (void)state;
    enum { NAME = HPACK_NAME_IS_VALID, VALUE = HPACK_VALUE_IS_VALID, SOUND = HPACK_VALUE_IS_SOUND };
    static const struct {
        const char *hex;
        int token, id, flags;
    } fields[] = {
        { "40 0161 0162", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME | VALUE },
        { "40 0141 0162", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
        { "40 00 0162", HPACK_TOKEN_FIELD, FIELD_OTHER, VALUE },
        { "40 0161 0120", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
        { "40 0161 020a61", HPACK_TOKEN_FIELD, FIELD_OTHER, NAME },
        { "40 04686f7374 0161", HPACK_TOKEN_FIELD, FIELD_HOST, NAME | VALUE | SOUND },
        { "66 0161", HPACK_TOKEN_FIELD, FIELD_HOST, NAME | VALUE | SOUND },
        { "66 0100", HPACK_TOKEN_FIELD, FIELD_HOST, NAME },
        { "50 83 9bd9ab", HPACK_TOKEN_FIELD, FIELD_ACCEPT_ENCODING, NAME | VALUE },
        { "42 0142", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE | SOUND },
        { "42 0120", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME },
        { "42 022c41", HPACK_TOKEN_METHOD, FIELD_OTHER, NAME | VALUE },
        { "40 053a70617468 012f", HPACK_TOKEN_PATH, FIELD_OTHER, NAME | VALUE | SOUND },
        { "40 053a50617468 012f", HPACK_TOKEN_PSEUDO_OTHER, FIELD_OTHER, VALUE },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        static seen s;
        hpack_decoder d;
        begin(&d, TABLE_OCTETS);
        for (int round = 0; round < 2; round++) { // as a literal, then from the table
            decode_hex(&d, round ? "be" : fields[i].hex, &s);
            assert_int_equal(s.count, 1);
            assert_int_equal(s.fields[0].token, fields[i].token);
            assert_int_equal(s.fields[0].id, fields[i].id);
            assert_int_equal(s.fields[0].flags, fields[i].flags);
        }
        decode_hex(&d, "7e 00", &s); // the name again: what its value was does not count
        assert_int_equal(s.fields[0].token, fields[i].token);
        assert_int_equal(s.fields[0].id, fields[i].id);
        int sound = fields[i].id == FIELD_HOST ? SOUND : 0; // it may be empty, the others may not
        assert_int_equal(s.fields[0].flags, (fields[i].flags & NAME) | VALUE | sound);
        end(&d);
    }
}

static void test_hpack_never_indexed(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, "10 0161 0162  00 0161 0162  1f08 0162  0f08 0162  82", &s);
    assert_string_equal(s.text, "a: b\na: b\nauthorization: b\nauthorization: b\n:method: GET\n");
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal((s.fields[i].flags & HPACK_IS_NEVER_INDEXED) != 0, i == 0 || i == 2);
    assert_int_equal(hpack_table_count(&d.table), 0);
    end(&d);
}

// ---- Strings that are too long ----

// A literal of so many "a", in Huffman's code or not; at most 128.
static size_t put_long(char *wire, unsigned kind, size_t name_len, size_t value_len,
                       bool in_huffman)
{
    size_t at = 1;
    wire[0] = (char)kind;
    size_t lens[] = { name_len, value_len };
    for (int i = 0; i < 2; i++) {
        char text[128];
        memset(text, 'a', sizeof text);
        size_t len = in_huffman ? huffman_encoded_len(slice_make(text, lens[i])) : lens[i];
        wire[at++] = (char)((in_huffman ? 0x80 : 0) | len);
        if (in_huffman) huffman_encode(wire + at, slice_make(text, lens[i]));
        else memcpy(wire + at, text, len);
        at += len;
    }
    return at;
}

static void expect_limit(unsigned kind, size_t name_len, size_t value_len, bool in_huffman)
{
    static char wire[WIRE_OCTETS];
    static seen s;
    hpack_decoder d;
    hpack_decoder_init(&d, &memory, 64, 80); // of 80 octets there are still slices
    decode_hex(&d, "40 0161 0162", &s);
    size_t len = put_long(wire, kind, name_len, value_len, in_huffman);
    wire[len] = (char)0x82;
    decode(&d, slice_make(wire, len + 1), &s);
    assert_int_equal(s.end, HPACK_END);
    assert_int_equal(s.count, 2);
    bool is_too_long = name_len > 80 || value_len > 80;
    assert_int_equal((s.fields[0].flags & HPACK_IS_TOO_LONG) != 0, is_too_long);
    assert_int_equal((s.fields[0].flags & HPACK_IS_NEVER_INDEXED) != 0, kind == 0x10);
    assert_int_equal(s.fields[0].octets, name_len + value_len + 32);
    if (!is_too_long) assert_int_equal(s.fields[0].name.len, name_len);
    assert_int_equal(s.fields[1].token, HPACK_TOKEN_METHOD);
    assert_int_equal(hpack_table_count(&d.table), kind == 0x40 ? 0 : 1);
    end(&d);
}

static void test_hpack_strings_that_are_too_long(void **state)
{
    (void)state;
    static const unsigned kinds[] = { 0x40, 0x10, 0 };
    for (unsigned i = 0; i < 6; i++) {
        expect_limit(kinds[i / 2], 1, 80, i % 2);
        expect_limit(kinds[i / 2], 1, 81, i % 2);
        expect_limit(kinds[i / 2], 80, 1, i % 2);
        expect_limit(kinds[i / 2], 81, 1, i % 2);
        expect_limit(kinds[i / 2], 100, 100, i % 2);
    }
}

static void test_hpack_strings_too_long_take_no_memory_and_are_checked(void **state)
{
    (void)state;
    static char wire[WIRE_OCTETS];
    hpack_field field;
    hpack_decoder d;
    hpack_decoder_init(&d, &memory, 64, 80);
    size_t len = put_long(wire, 0, 1, 121, true);
    hpack_decoder_begin(&d, slice_make(wire, len));
    assert_int_equal(hpack_decoder_next(&d, &field), HPACK_FIELD);
    assert_int_equal(hpack_decoder_octets(&d), 0);
    wire[len - 1] = 0;
    hpack_decoder_begin(&d, slice_make(wire, len));
    assert_int_equal(hpack_decoder_next(&d, &field), HPACK_FAULT);
    end(&d);
}

// A string that the table can hold is kept, whatever the limit.
static void test_hpack_limit_is_not_below_the_table(void **state)
{
    (void)state;
    static char wire[WIRE_OCTETS];
    static seen s;
    hpack_decoder d;
    hpack_decoder_init(&d, &memory, 256, 10);
    decode(&d, slice_make(wire, put_long(wire, 0x40, 1, 100, true)), &s);
    assert_int_equal(s.fields[0].flags, HPACK_NAME_IS_VALID | HPACK_VALUE_IS_VALID);
    decode_hex(&d, "be", &s);
    assert_int_equal(s.fields[0].octets, 133);
    end(&d);
}

// ---- Memory ----

static void test_hpack_holds_what_the_table_needs(void **state)
{
    (void)state;
    static seen s;
    hpack_decoder d;
    begin(&d, TABLE_OCTETS);
    decode_hex(&d, "828684 0f08 0162", &s); // nothing to keep
    assert_int_equal(memory.used, 0);
    decode_hex(&d, "04 83 9bd9ab", &s); // a string in Huffman's code
    assert_string_equal(s.text, ":path: gzip\n");
    assert_in_range(hpack_decoder_octets(&d), 4, 1024);
    static char wire[WIRE_OCTETS] = "\x04\xff\xe1\x2e"; // 6,112 octets of Huffman's code for "0"
    decode(&d, slice_make(wire, 4 + 6112), &s);
    assert_int_equal(s.end, HPACK_FAULT); // whose padding is wrong
    wire[4 + 6111] = 0x07;
    decode(&d, slice_make(wire, 4 + 6112), &s);
    assert_int_equal(s.end, HPACK_END);
    assert_int_equal(hpack_decoder_octets(&d), 0); // too much to keep
    decode_hex(&d, "04 83 9bd9ab", &s);
    hpack_decoder_rest(&d);
    assert_int_equal(memory.used, 0);
    for (int i = 0; i < 3; i++)
        decode_hex(&d, requests_in_huffman[i].hex, &s);
    hpack_decoder_rest(&d);
    decode_hex(&d, "bebfc0", &s);
    assert_string_equal(s.text, REQUEST_TABLE_3);
    assert_in_range(hpack_decoder_octets(&d), 164 - 3 * 22, 164 - 3 * 22 + 64);
    for (int i = 0; i < 200; i++) {
        for (int r = 0; r < 3; r++)
            decode_hex(&d, responses_in_huffman[r].hex, &s);
        assert_int_equal(s.end, HPACK_END);
    }
    assert_true(d.table.size > TABLE_OCTETS - 100);
    hpack_decoder_rest(&d);
    assert_true(hpack_decoder_octets(&d) <= TABLE_OCTETS);
    end(&d);
}

static unsigned failing_at; // 0: none fails

static void *failing_alloc(size_t octets, void *user)
{
    (void)user;
    if (failing_at && --failing_at == 0) return NULL;
    return malloc(octets);
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

// Each allocation fails once: the block ends, or nothing was lost.
static void test_hpack_each_allocation_fails(void **state)
{
    (void)state;
    static const skua_allocator failing = { failing_alloc, failing_resize, failing_free, NULL };
    assert_true(memory_join(&failing));
    unsigned ended = 0;
    for (unsigned n = 1; n < 40; n++) {
        static seen s;
        hpack_decoder d;
        begin(&d, 256);
        failing_at = n;
        for (int i = 0; i < 3; i++) {
            decode_hex(&d, responses_in_huffman[i].hex, &s);
            assert_true(s.end == HPACK_END || s.end == HPACK_NO_MEMORY);
            assert_memory_equal(s.text, responses_in_huffman[i].text, s.len);
            if (s.end == HPACK_NO_MEMORY) break;
        }
        ended += s.end == HPACK_NO_MEMORY;
        failing_at = 0;
        end(&d);
    }
    assert_in_range(ended, 3, 30);
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
        cmocka_unit_test(test_hpack_examples_of_requests),
        cmocka_unit_test(test_hpack_examples_of_responses),
        cmocka_unit_test(test_hpack_examples_of_fields),
        cmocka_unit_test(test_hpack_faults),
        cmocka_unit_test(test_hpack_blocks_cut_at_every_octet),
        cmocka_unit_test(test_hpack_lengths_at_their_edges),
        cmocka_unit_test(test_hpack_redundant_octets_are_bounded),
        cmocka_unit_test(test_hpack_every_index),
        cmocka_unit_test(test_hpack_size_updates),
        cmocka_unit_test(test_hpack_size_updates_in_a_smaller_table),
        cmocka_unit_test(test_hpack_size_updates_in_a_larger_table),
        cmocka_unit_test(test_hpack_name_of_an_entry_that_goes),
        cmocka_unit_test(test_hpack_entries_too_large_empty_the_table),
        cmocka_unit_test(test_hpack_fields_know_what_they_are),
        cmocka_unit_test(test_hpack_never_indexed),
        cmocka_unit_test(test_hpack_strings_that_are_too_long),
        cmocka_unit_test(test_hpack_strings_too_long_take_no_memory_and_are_checked),
        cmocka_unit_test(test_hpack_limit_is_not_below_the_table),
        cmocka_unit_test(test_hpack_holds_what_the_table_needs),
        cmocka_unit_test(test_hpack_each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
