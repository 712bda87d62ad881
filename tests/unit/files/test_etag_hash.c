// SPDX-License-Identifier: MIT
//
// Entity tags of content that comes piece by piece, however it is split.

#include "http/etag.h"
#include "skua/skua.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { CONTENT_OCTETS = 41 };

static void content_fill(char content[CONTENT_OCTETS])
{
    for (unsigned i = 0; i < CONTENT_OCTETS; i++)
        content[i] = (char)(i * 37 + 11);
}

static void tag_is(skua_etag_hash *hash, slice content)
{
    char expected[ETAG_OCTETS], etag[SKUA_FILE_ETAG_OCTETS];
    size_t len = etag_write(content, expected);
    assert_int_equal(skua_etag_hash_end(hash, etag), len);
    assert_memory_equal(etag, expected, len);
}

static void test_every_two_splits(void **state)
{
    (void)state;
    char content[CONTENT_OCTETS];
    content_fill(content);
    for (size_t len = 0; len <= CONTENT_OCTETS; len++) {
        for (size_t first = 0; first <= len; first++) {
            for (size_t second = first; second <= len; second++) {
                skua_etag_hash hash = { 0 };
                skua_etag_hash_add(&hash, slice_make(content, first));
                skua_etag_hash_add(&hash, slice_make(content + first, second - first));
                skua_etag_hash_add(&hash, slice_make(content + second, len - second));
                tag_is(&hash, slice_make(content, len));
            }
        }
    }
}

static void test_octet_by_octet(void **state)
{
    (void)state;
    char content[CONTENT_OCTETS];
    content_fill(content);
    skua_etag_hash hash = { 0 };
    for (size_t i = 0; i < CONTENT_OCTETS; i++) {
        skua_etag_hash_add(&hash, slice_make(content + i, 1));
        skua_etag_hash_add(&hash, (slice){ 0 });
    }
    tag_is(&hash, slice_make(content, CONTENT_OCTETS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_two_splits),
        cmocka_unit_test(test_octet_by_octet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
