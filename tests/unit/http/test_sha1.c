// SPDX-License-Identifier: MIT
//
// SHA-1: the texts of RFC 3174 §7.3 and FIPS 180, and each length about the ends of blocks against a
// sum that was made by another program.

#include "http/sha1.h"

#include "support/support.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void expect_digest(const char *text, size_t len, const char *wanted)
{
    uint8_t digest[SHA1_OCTETS];
    char hex[2 * SHA1_OCTETS + 1];
    char *copy = guarded_copy(text, len);
    sha1_of(slice_make(copy, len), digest);
    guarded_free(copy, len);
    for (size_t i = 0; i < SHA1_OCTETS; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, wanted);
}

static void test_known_texts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "", "da39a3ee5e6b4b0d3255bfef95601890afd80709" },
        { "abc", "a9993e364706816aba3e25717850c26c9cd0d89d" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "84983e441c3bd26ebaae4aa1f95129e5e54670f1" },
        { "0123456701234567012345670123456701234567012345670123456701234567",
          "e0c094e867ef46c350ef54a7f59dd60bed92ae83" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_digest(cases[i][0], strlen(cases[i][0]), cases[i][1]);
}

// The digest of the digests of "a" repeated 0 to 199 times.
static void test_every_length(void **state)
{
    (void)state;
    char text[200], digests[200 * SHA1_OCTETS];
    memset(text, 'a', sizeof text);
    for (size_t len = 0; len < sizeof text; len++)
        sha1_of(slice_make(text, len), (uint8_t *)digests + len * SHA1_OCTETS);
    expect_digest(digests, sizeof digests, "8a18f04bac7c86cfcffa6a93e5cb21ae0159deac");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_texts),
        cmocka_unit_test(test_every_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
