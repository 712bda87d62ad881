// SPDX-License-Identifier: MIT
//
// Content that is compressed in one go: into exactly the room that it needs, and into no less.

#include <skua/skua.h>

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LENGTH = 60000 };

static char content[LENGTH], out[LENGTH];

static const skua_effort efforts[] = { SKUA_EFFORT_STREAM, SKUA_EFFORT_KEPT, SKUA_EFFORT_BEST };

static skua_status encode(skua_coding coding, skua_effort effort, size_t room, size_t *octets)
{
    // flush against the end of the room, so that a sanitizer sees one octet too many
    char *exact = malloc(room);
    skua_status status =
        skua_encode(coding, effort, (skua_slice){ content, LENGTH }, exact, room, octets);
    if (!status) memcpy(out, exact, *octets);
    free(exact);
    return status;
}

static void test_room(void **state)
{
    (void)state;
    unsigned word = 1;
    for (size_t i = 0; i < LENGTH; i++) {
        if (i % 5 == 0) word = word * 1103515245u + 12345u;
        content[i] = (char)('a' + (word >> 16) % 23);
    }
    for (skua_coding coding = SKUA_CODING_GZIP; coding <= SKUA_CODING_ZSTD; coding++) {
        size_t octets = 77, again;
        if (!skua_coding_is_built(coding)) {
            assert_int_equal(encode(coding, SKUA_EFFORT_KEPT, LENGTH, &octets), SKUA_EUNSUPPORTED);
            continue;
        }
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(encode(coding, efforts[i], LENGTH, &octets), SKUA_OK);
            assert_true(octets > 1000 && octets < LENGTH * 9 / 10);
            assert_int_equal(encode(coding, efforts[i], octets, &again), SKUA_OK);
            assert_int_equal(again, octets);
            again = 77;
            for (size_t less = 1; less < octets; less += less / 2 + 1)
                assert_int_equal(encode(coding, efforts[i], octets - less, &again), SKUA_ELIMIT);
            assert_int_equal(encode(coding, efforts[i], 1, &again), SKUA_ELIMIT);
            assert_int_equal(again, 77);
        }
    }
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    size_t octets;
    for (skua_coding coding = SKUA_CODING_GZIP; coding <= SKUA_CODING_ZSTD; coding++) {
        if (!skua_coding_is_built(coding)) continue;
        assert_int_equal(
            skua_encode(coding, SKUA_EFFORT_KEPT, (skua_slice){ NULL, 0 }, out, 64, &octets),
            SKUA_OK);
        assert_true(octets > 0 && octets < 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
