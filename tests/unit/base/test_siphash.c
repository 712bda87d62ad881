// SPDX-License-Identifier: MIT
//
// SipHash-1-3 against values of another implementation: CPython's hash of bytes with
// PYTHONHASHSEED=0, which is SipHash-1-3 with a key of zeros.

#include "base/siphash.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct vector {
    size_t len; // of the octets 0, 1, 2, …
    uint64_t hash;
} vector;

static const vector vectors[] = {
    { 1, 0x68a914128e01e473 },  { 2, 0x010bac45c41e3669 },   { 7, 0x2f098ab0c751325a },
    { 8, 0xead411e67ebe2eea },  { 9, 0x75927f9d95124362 },   { 15, 0xf30eb725bb91c9ea },
    { 16, 0x8972188433a5c5b7 }, { 17, 0x4883c49a2c009c1d },  { 63, 0x385d3e39e5f37359 },
    { 64, 0x75e05fd5bbc870c6 }, { 200, 0x7176378efd9e8a23 },
};

static void test_siphash_agrees_with_another(void **state)
{
    (void)state;
    const siphash_key zero = { 0, 0 };
    char octets[256];
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char *text = guarded_copy(octets, vectors[i].len);
        assert_true(siphash(&zero, slice_make(text, vectors[i].len)) == vectors[i].hash);
        guarded_free(text, vectors[i].len);
    }
}

static void test_siphash_depends_on_both_halves_of_its_key(void **state)
{
    (void)state;
    const siphash_key keys[] = { { 0, 0 }, { 1, 0 }, { 0, 1 } };
    slice text = SKUA_SLICE("/index.html");
    uint64_t plain = siphash(&keys[0], text);
    assert_true(plain != siphash(&keys[1], text));
    assert_true(plain != siphash(&keys[2], text));
    assert_true(siphash(&keys[1], text) != siphash(&keys[2], text));
}

static void test_siphash_tells_lengths_apart(void **state)
{
    (void)state;
    const siphash_key key = { 5, 6 };
    static const char zeros[64];
    for (size_t a = 0; a < sizeof zeros; a++) {
        for (size_t b = a + 1; b < sizeof zeros; b++) {
            assert_true(siphash(&key, slice_make(zeros, a)) != siphash(&key, slice_make(zeros, b)));
        }
    }
}

// The first two vectors of the authors' implementation: key 00 to 0f, the texts "" and 00.
static void test_siphash_wide_agrees_with_another(void **state)
{
    (void)state;
    const siphash_key key = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
    static const siphash_wide_hash wanted[] = { { 0xe6a825ba047f81a3, 0x930255c71472f66d },
                                                { 0x44af996bd8c187da, 0x45fc229b11597634 } };
    for (size_t i = 0; i < 2; i++) {
        siphash_wide_hash hash = siphash_wide(&key, slice_make("\0", i));
        assert_true(hash.low == wanted[i].low && hash.high == wanted[i].high);
    }
}

static void test_siphash_stream_is_that_of_the_whole(void **state)
{
    (void)state;
    const siphash_key key = { 3, 4 };
    char octets[600];
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (char)(i * 7);
    for (size_t len = 0; len <= sizeof octets; len++) {
        siphash_wide_hash whole = siphash_wide(&key, slice_make(octets, len));
        for (size_t split = 0; split <= len; split += 8) {
            siphash_stream stream;
            siphash_stream_begin(&stream, &key);
            siphash_stream_add(&stream, slice_make(octets, split));
            char *rest = guarded_copy(octets + split, len - split);
            siphash_wide_hash parts = siphash_stream_end(&stream, slice_make(rest, len - split));
            guarded_free(rest, len - split);
            assert_true(parts.low == whole.low && parts.high == whole.high);
        }
    }
}

static void test_siphash_random_keys_differ(void **state)
{
    (void)state;
    siphash_key a, b;
    siphash_key_random(&a);
    siphash_key_random(&b);
    assert_true(a.low != b.low || a.high != b.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_siphash_agrees_with_another),
        cmocka_unit_test(test_siphash_depends_on_both_halves_of_its_key),
        cmocka_unit_test(test_siphash_tells_lengths_apart),
        cmocka_unit_test(test_siphash_wide_agrees_with_another),
        cmocka_unit_test(test_siphash_stream_is_that_of_the_whole),
        cmocka_unit_test(test_siphash_random_keys_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
