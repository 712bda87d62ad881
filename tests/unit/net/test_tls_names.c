// SPDX-License-Identifier: MIT
//
// Server names: how they are compared, how they are sent, and what they lead to.

#include "net/tls_names.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const char label63[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void test_names_are_folded(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool may_be_wild;
        const char *folded; // "": refused
    } cases[] = {
        { "example.org", false, "example.org" },
        { "EXAMPLE.Org", false, "example.org" },
        { "example.org.", false, "example.org" },
        { "example.org..", false, "" },
        { "localhost", false, "localhost" },
        { "a_b.example", false, "a_b.example" },
        { "xn--bcher-kva.example", false, "xn--bcher-kva.example" },
        { "1.2.3.4", false, "1.2.3.4" },
        { "", false, "" },
        { ".", false, "" },
        { ".example", false, "" },
        { "a..b", false, "" },
        { "a b", false, "" },
        { "a/b", false, "" },
        { "::1", false, "" },
        { "b\xc3\xbc"
          "cher.example",
          false, "" },
        { "*.example.org", false, "" },
        { "*.Example.org", true, "*.example.org" },
        { "*.example.org.", true, "*.example.org" },
        { "*", true, "" },
        { "*.", true, "" },
        { "*.*.org", true, "" },
        { "a*.org", true, "" },
        { "www.*.org", true, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folded[TLS_NAME_OCTETS_MAX];
        size_t len = strlen(cases[i].name);
        char *name = guarded_copy(cases[i].name, len);
        size_t n = tls_name_fold(slice_make(name, len), cases[i].may_be_wild, folded);
        assert_true(slice_equal(slice_make(folded, n), slice_of(cases[i].folded)));
        guarded_free(name, len);
    }
}

static void test_the_longest_name(void **state)
{
    (void)state;
    char name[TLS_NAME_OCTETS_MAX + 2], folded[TLS_NAME_OCTETS_MAX];
    memset(name, 'a', sizeof name);
    assert_int_equal(tls_name_fold(slice_make(name, TLS_NAME_OCTETS_MAX), false, folded),
                     TLS_NAME_OCTETS_MAX);
    assert_int_equal(tls_name_fold(slice_make(name, TLS_NAME_OCTETS_MAX + 1), false, folded), 0);
    name[TLS_NAME_OCTETS_MAX] = '.';
    assert_int_equal(tls_name_fold(slice_make(name, TLS_NAME_OCTETS_MAX + 1), false, folded),
                     TLS_NAME_OCTETS_MAX);
}

static void test_the_extension_is_read_and_no_further(void **state)
{
    (void)state;
    const struct {
        slice wire;
        const char *name;
    } cases[] = {
        { SKUA_SLICE("\0\x06\0\0\x03"
                     "a.b"),
          "a.b" },
        { SKUA_SLICE("\0\x04\0\0\x01"
                     "a"),
          "a" },
        { SKUA_SLICE("\0\x03\0\0\0"), "" },
        { SKUA_SLICE(""), "" },
        { SKUA_SLICE("\0"), "" },
        { SKUA_SLICE("\0\0"), "" },
        { SKUA_SLICE("\0\x06\0\0"), "" },
        { SKUA_SLICE("\0\x05\0\0\x03"
                     "a.b"),
          "" }, // the list is shorter
        { SKUA_SLICE("\0\x07\0\0\x03"
                     "a.b"),
          "" }, // or longer
        { SKUA_SLICE("\0\x06\0\0\x02"
                     "a.b"),
          "" }, // something behind the name
        { SKUA_SLICE("\0\x06\0\0\x04"
                     "a.b"),
          "" }, // the name is longer
        { SKUA_SLICE("\0\x06\x01\0\x03"
                     "a.b"),
          "" }, // not a host name
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        slice wire = cases[i].wire;
        char *octets = guarded_copy(wire.ptr, wire.len);
        slice name = tls_name_of_extension((const unsigned char *)octets, wire.len);
        assert_true(slice_equal(name, slice_of(cases[i].name)));
        guarded_free(octets, wire.len);
    }
}

static void add(tls_names *names, const char *name, unsigned slot, uint32_t number)
{
    assert_int_equal(tls_names_add(names, slice_of(name), slot, number), SKUA_OK);
}

static void check_found(const tls_names *names, const char *name, const char *row)
{
    const tls_names_row *found = tls_names_find(names, slice_of(name));
    assert_int_equal(found != NULL, row != NULL);
    if (found) assert_string_equal(found->name, row);
}

static void test_a_name_is_found_before_a_wildcard(void **state)
{
    (void)state;
    tls_names names = { 0 };
    uint32_t other;
    add(&names, "www.b.test", 0, 0);
    add(&names, "*.b.test", 0, 1);
    add(&names, "a.test", 0, 2);
    add(&names, "b.test", 1, 3);
    add(&names, "www.b.test", 1, 4);
    assert_null(tls_names_sort(&names, &other));
    assert_int_equal(names.count, 4);
    check_found(&names, "www.b.test", "www.b.test");
    check_found(&names, "w.b.test", "*.b.test");
    check_found(&names, "ww.b.test", "*.b.test");
    check_found(&names, "www.b.tes", NULL);
    check_found(&names, "www.b.test.more", NULL);
    check_found(&names, "x.www.b.test", NULL);
    check_found(&names, "b.test", "b.test");
    check_found(&names, "x.a.test", NULL);
    check_found(&names, "test", NULL);
    check_found(&names, "", NULL);
    const tls_names_row *row = tls_names_find(&names, slice_of("www.b.test"));
    assert_int_equal(row->slots[0], 0);
    assert_int_equal(row->slots[1], 4);
    assert_int_equal(row->slots[2], TLS_NAMES_NONE);
    tls_names_free(&names);
}

static void test_the_first_name_that_is_there_twice_is_told(void **state)
{
    (void)state;
    tls_names names = { 0 };
    uint32_t other = 0;
    add(&names, "c", 0, 9);
    add(&names, "b", 1, 7);
    add(&names, "b", 1, 5);
    add(&names, "a", 2, 1);
    add(&names, "c", 0, 8);
    add(&names, "a", 2, 1); // twice in one certificate
    const tls_names_row *row = tls_names_sort(&names, &other);
    assert_non_null(row);
    assert_string_equal(row->name, "b");
    assert_int_equal(row->slots[1], 5);
    assert_int_equal(other, 7);
    tls_names_free(&names);
}

static void test_an_empty_table(void **state)
{
    (void)state;
    tls_names names = { 0 };
    uint32_t other;
    assert_null(tls_names_sort(&names, &other));
    check_found(&names, "a.test", NULL);
    check_found(&names, label63, NULL);
    tls_names_free(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_folded),
        cmocka_unit_test(test_the_longest_name),
        cmocka_unit_test(test_the_extension_is_read_and_no_further),
        cmocka_unit_test(test_a_name_is_found_before_a_wildcard),
        cmocka_unit_test(test_the_first_name_that_is_there_twice_is_told),
        cmocka_unit_test(test_an_empty_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
