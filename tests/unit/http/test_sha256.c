// SPDX-License-Identifier: MIT
//
// SHA-256: the texts of FIPS 180-4's examples, each length about the ends of blocks against a sum that was made by
// another program, and texts that come in pieces.

#include "http/sha256.h"

#include "support/support.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void expect_hex(const uint8_t digest[SHA256_OCTETS], const char *wanted)
{
    char hex[2 * SHA256_OCTETS + 1];
    for (size_t i = 0; i < SHA256_OCTETS; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, wanted);
}

static void expect_digest(const char *text, size_t len, const char *wanted)
{
    uint8_t digest[SHA256_OCTETS];
    char *copy = guarded_copy(text, len);
    skua_sha256(slice_make(copy, len), digest);
    guarded_free(copy, len);
    expect_hex(digest, wanted);
}

static void test_known_texts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmno"
          "pqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_digest(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

// The digest of the digests of "a" repeated 0 to 199 times.
static void test_every_length(void **state)
{
    (void)state;
    char text[200], digests[200 * SHA256_OCTETS];
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len < sizeof text; len++)
        skua_sha256(slice_make(text, len), (uint8_t *)digests + len * SHA256_OCTETS);
    expect_digest(digests, sizeof digests,
                  "752c007f38611cfbf5fa42cb1cea3d8e086491c844d0cc4defd632cb81423506");
}

static void test_a_million(void **state)
{
    (void)state;
    uint8_t digest[SHA256_OCTETS];
    char piece[1000];
    sha256 hash;
    memset(piece, 'a', sizeof piece);
    sha256_begin(&hash);
    for (int i = 0; i < 1000; i++)
        sha256_add(&hash, slice_make(piece, sizeof piece));
    sha256_end(&hash, digest);
    expect_hex(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_every_split(void **state)
{
    (void)state;
    uint8_t whole[SHA256_OCTETS], parts[SHA256_OCTETS];
    char text[150];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7);
    skua_sha256(slice_make(text, sizeof text), whole);
    for (size_t split = 0; split <= sizeof text; split++) {
        sha256 hash;
        sha256_begin(&hash);
        sha256_add(&hash, slice_make(text, split));
        sha256_add(&hash, slice_make(text + split, sizeof text - split));
        sha256_end(&hash, parts);
        assert_memory_equal(parts, whole, sizeof whole);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_texts),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_every_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
