// SPDX-License-Identifier: MIT
//
// The static table: each entry is found, and nothing that is only like one.

#include "http/hpack_static.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static unsigned find_name(slice name)
{
    char *guarded = guarded_copy(name.ptr, name.len);
    unsigned index = hpack_static_find_name(slice_make(guarded, name.len));
    guarded_free(guarded, name.len);
    return index;
}

static void test_hpack_static_finds_each_entry(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= HPACK_STATIC_COUNT; i++) {
        const hpack_field *entry = &hpack_static[i - 1];
        assert_int_equal(hpack_static_find(entry->name, entry->value), i);
        unsigned first = find_name(entry->name);
        assert_in_range(first, 1, i);
        assert_true(slice_equal(hpack_static[first - 1].name, entry->name));
        assert_true(first == 1 || !slice_equal(hpack_static[first - 2].name, entry->name));
    }
    assert_int_equal(find_name(slice_of("date")), HPACK_STATIC_DATE);
    assert_int_equal(find_name(slice_of("content-type")), HPACK_STATIC_CONTENT_TYPE);
    assert_int_equal(find_name(slice_of("content-length")), HPACK_STATIC_CONTENT_LENGTH);
    assert_int_equal(find_name(slice_of(":status")), HPACK_STATIC_STATUS);
}

// With each octet changed, cut off or added.
static void test_hpack_static_finds_nothing_else(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= HPACK_STATIC_COUNT; i++) {
        const hpack_field *entry = &hpack_static[i - 1];
        char name[64];
        memcpy(name, entry->name.ptr, entry->name.len);
        for (size_t at = 0; at < entry->name.len; at++) {
            name[at] ^= 0x20;
            assert_int_equal(find_name(slice_make(name, entry->name.len)), 0);
            name[at] ^= 0x20;
            unsigned index = find_name(slice_make(name, at));
            if (index) assert_int_equal(hpack_static[index - 1].name.len, at);
        }
        name[entry->name.len] = 'x';
        assert_int_equal(find_name(slice_make(name, entry->name.len + 1)), 0);
        assert_int_equal(hpack_static_find(entry->name, slice_of("no such value")), 0);
    }
    assert_int_equal(hpack_static_find(slice_of("x-other"), slice_of("")), 0);
}

// The table says of its fields the same as a judge of them.
static void test_hpack_static_is_judged_rightly(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= HPACK_STATIC_COUNT; i++) {
        const hpack_field *entry = &hpack_static[i - 1];
        hpack_field field = { .name = entry->name, .value = entry->value };
        hpack_field_judge_name(&field);
        hpack_field_judge_value(&field);
        assert_int_equal(field.octets, entry->octets);
        assert_int_equal(field.token, entry->token);
        assert_int_equal(field.id, entry->id);
        assert_int_equal(field.flags, entry->flags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hpack_static_finds_each_entry),
        cmocka_unit_test(test_hpack_static_finds_nothing_else),
        cmocka_unit_test(test_hpack_static_is_judged_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
