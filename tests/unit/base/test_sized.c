// SPDX-License-Identifier: MIT
//
// Structs of other sizes: what one side does not know is zero on the other.

#include "base/sized.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct thing {
    uint32_t a, b, c, d;
} thing;

static const thing full = { 1, 2, 3, 4 };

static void test_sized_alike_is_itself(void **state)
{
    (void)state;
    thing own;
    assert_ptr_equal(SIZED_GIVEN(&full, sizeof(thing), &own), &full);
}

static void test_sized_given_at_each_size(void **state)
{
    (void)state;
    for (size_t octets = 0; octets <= sizeof(thing) + 8; octets++) {
        char *given = malloc(octets ? octets : 1); // a sanitizer sees what is read behind it
        assert_non_null(given);
        size_t known = octets < sizeof(thing) ? octets : sizeof(thing);
        memset(given, 0, octets);
        memcpy(given, &full, known);
        thing own, expected = { 0 };
        memcpy(&expected, &full, known);
        const thing *taken = SIZED_GIVEN(given, octets, &own);
        assert_memory_equal(taken, &expected, sizeof(thing));
        free(given);
    }
}

static void test_sized_give_at_each_size(void **state)
{
    (void)state;
    enum { ROOM = sizeof(thing) + 8 };
    for (size_t octets = 0; octets <= ROOM; octets++) {
        char room[ROOM + 1], expected[ROOM + 1];
        size_t known = octets < sizeof(thing) ? octets : sizeof(thing);
        memset(room, 'x', sizeof room);
        memset(expected, 'x', sizeof expected);
        memset(expected, 0, octets);
        memcpy(expected, &full, known);
        sized_give(room, octets, &full, sizeof full);
        assert_memory_equal(room, expected, sizeof room);
    }
}

static void test_sized_arrays(void **state)
{
    (void)state;
    const uint32_t older[] = { 1, 2, 3, 5, 6, 7 }, newer[] = { 1, 2, 3, 4, 0, 5, 6, 7, 8, 0 };
    const thing like[] = { { 1, 2, 3, 0 }, { 5, 6, 7, 0 } },
                all[] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
    void *made;
    assert_ptr_equal(sized_array("f", all, 2, sizeof(thing), sizeof(thing), &made), all);
    assert_null(made);
    assert_null(sized_array("f", NULL, 0, 12, sizeof(thing), &made));
    assert_null(made);
    assert_memory_equal(sized_array("f", older, 2, 12, sizeof(thing), &made), like, sizeof like);
    memory_free(made);
    assert_memory_equal(sized_array("f", newer, 2, 20, sizeof(thing), &made), all, sizeof all);
    memory_free(made);
    assert_null(sized_array("f", older, SIZE_MAX / 8, 12, sizeof(thing), &made));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sized_alike_is_itself),
        cmocka_unit_test(test_sized_given_at_each_size),
        cmocka_unit_test(test_sized_give_at_each_size),
        cmocka_unit_test(test_sized_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
