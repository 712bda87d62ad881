// SPDX-License-Identifier: MIT
//
// Huffman code: every octet and pair of octets both ways, each against a forbidden page; and each
// way in which padding can be wrong.

#include "http/huffman.h"
#include "http/huffman_table.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { TEXT_OCTETS = 4096 };

// Decodes a copy that ends at a forbidden page into memory that does too. Returns whether it could.
static bool decode(slice coded, char *out, size_t *len)
{
    size_t counted = 0, room = huffman_room(coded.len);
    static const char blank[TEXT_OCTETS * 8];
    char *text = guarded_copy(coded.ptr, coded.len), *to = guarded_copy(blank, room);
    bool is_code = huffman_decode(slice_make(text, coded.len), to, len);
    assert_int_equal(huffman_decoded_len(slice_make(text, coded.len), &counted), is_code);
    if (is_code) {
        assert_int_equal(*len, counted);
        memcpy(out, to, *len);
    }
    guarded_free(to, room);
    guarded_free(text, coded.len);
    return is_code;
}

static void expect_round_trip(slice text)
{
    static char coded[TEXT_OCTETS * 4 + 1], out[TEXT_OCTETS * 8];
    size_t len = huffman_encoded_len(text);
    coded[len] = '#';
    assert_ptr_equal(huffman_encode(coded, text), coded + len);
    assert_int_equal(coded[len], '#');
    assert_true(decode(slice_make(coded, len), out, &len));
    assert_int_equal(len, text.len);
    if (len) assert_memory_equal(out, text.ptr, len);
}

static void test_huffman_of_rfc_7541_appendix_c(void **state)
{
    (void)state;
    static const struct {
        const char *text, *coded;
        size_t len;
    } examples[] = {
        { "www.example.com", "\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff", 12 },
        { "no-cache", "\xa8\xeb\x10\x64\x9c\xbf", 6 },
        { "custom-key", "\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f", 8 },
        { "custom-value", "\x25\xa8\x49\xe9\x5b\xb8\xe8\xb4\xbf", 9 },
        { "302", "\x64\x02", 2 },
        { "private", "\xae\xc3\x77\x1a\x4b", 5 },
        { "307", "\x64\x0e\xff", 3 },
        { "gzip", "\x9b\xd9\xab", 3 },
        { "", "", 0 },
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        char out[64];
        size_t len;
        slice text = slice_of(examples[i].text);
        assert_int_equal(huffman_encoded_len(text), examples[i].len);
        assert_int_equal(huffman_encode(out, text) - out, examples[i].len);
        assert_memory_equal(out, examples[i].coded, examples[i].len);
        assert_true(decode(slice_make(examples[i].coded, examples[i].len), out, &len));
        assert_true(slice_equal(slice_make(out, len), text));
    }
}

static void test_huffman_every_octet_and_pair(void **state)
{
    (void)state;
    expect_round_trip(slice_make(NULL, 0));
    for (unsigned first = 0; first < 256; first++) {
        for (unsigned second = 0; second < 256; second += first % 16 ? 51 : 1) {
            char text[3] = { (char)first, (char)second, 'e' };
            expect_round_trip(slice_make(text, 1));
            expect_round_trip(slice_make(text, 2));
            expect_round_trip(slice_make(text, 3));
        }
    }
}

// Codes of every length lie at every distance from the end of a word.
static void test_huffman_long_texts(void **state)
{
    (void)state;
    static char text[TEXT_OCTETS];
    uint64_t random = 1;
    for (unsigned round = 0; round < 400; round++) {
        size_t len = round * 7 % 300;
        for (size_t i = 0; i < len; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            text[i] = (char)(random >> 56);
            if (round % 3) text[i] = "e0aZ./ #\x01"[random >> 33 & 7];
        }
        expect_round_trip(slice_make(text, len));
    }
}

static void test_huffman_longest_codes_fill_the_room(void **state)
{
    (void)state;
    static char text[TEXT_OCTETS];
    memset(text, '\n', sizeof text);
    expect_round_trip(slice_make(text, sizeof text));
    memset(text, 'e', sizeof text);
    expect_round_trip(slice_make(text, sizeof text));
}

typedef struct fault_case {
    const char *name, *coded;
    size_t len;
} fault_case;

static const fault_case faults[] = {
    { "an octet of padding", "\xff", 1 },
    { "an octet of padding behind a code", "\x1f\xff", 2 },
    { "an octet of padding behind many", "\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff\xff",
      13 },
    { "three octets of padding", "\xff\xff\xff", 3 },
    { "padding with a zero at its end", "\x1e", 1 },
    { "padding with a zero at its start", "\x1b", 1 },
    { "padding of zeros", "\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xfe", 12 },
    { "EOS alone", "\xff\xff\xff\xfc", 4 },
    { "EOS and padding", "\xff\xff\xff\xff", 4 },
    { "EOS behind a code", "\x1f\xff\xff\xff\xff", 5 },
    { "EOS before much else", "\xff\xff\xff\xfd\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff",
      16 },
    { "EOS in the middle", "\x1f\xff\xff\xff\xff\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab", 14 },
    { "ones for a word and more",
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16 },
    { "a long code that is cut", "\xff\xff\xff\xf0", 4 },
    { "a code of 13 bits that is cut", "\xff\xc0", 2 },
};

static void test_huffman_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char out[64];
        size_t len;
        if (decode(slice_make(faults[i].coded, faults[i].len), out, &len))
            fail_msg("%s was decoded", faults[i].name);
    }
}

// Behind each text, from no padding to seven bits of it, and then eight.
static void test_huffman_padding_of_each_length(void **state)
{
    (void)state;
    for (unsigned n = 1; n <= 16; n++) { // codes of "e" have 5 bits
        char text[16], coded[16], out[64];
        memset(text, 'e', sizeof text);
        size_t len, coded_len = huffman_encoded_len(slice_make(text, n));
        huffman_encode(coded, slice_make(text, n));
        assert_true(decode(slice_make(coded, coded_len), out, &len));
        unsigned padding = (unsigned)coded_len * 8 - n * 5;
        for (unsigned bit = 0; bit < padding; bit++) {
            coded[coded_len - 1] ^= (char)(1 << bit);
            bool is_code = decode(slice_make(coded, coded_len), out, &len);
            // five bits and more may be another code
            assert_true(!is_code || (padding >= 5 && len == n + 1));
            coded[coded_len - 1] ^= (char)(1 << bit);
        }
        coded[coded_len] = (char)0xff;
        assert_false(decode(slice_make(coded, coded_len + 1), out, &len));
    }
}

// No octets are taken for a text that they are not the code of.
static void test_huffman_all_short_codings(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 1u << 16; n++) {
        char coded[2] = { (char)(n >> 8), (char)n }, out[16], again[16];
        size_t len;
        if (!huffman_decode(slice_make(coded, 2), out, &len)) continue;
        assert_int_equal(huffman_encoded_len(slice_make(out, len)), 2);
        huffman_encode(again, slice_make(out, len));
        assert_memory_equal(again, coded, 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huffman_of_rfc_7541_appendix_c),
        cmocka_unit_test(test_huffman_every_octet_and_pair),
        cmocka_unit_test(test_huffman_long_texts),
        cmocka_unit_test(test_huffman_longest_codes_fill_the_room),
        cmocka_unit_test(test_huffman_faults),
        cmocka_unit_test(test_huffman_padding_of_each_length),
        cmocka_unit_test(test_huffman_all_short_codings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
