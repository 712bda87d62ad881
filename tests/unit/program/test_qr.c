// SPDX-License-Identifier: MIT
//
// QR codes. The one that is compared was read by zbarimg, as were those of each version at its edge; those that are not
// compared have the patterns by which a reader finds them.

#include "program/common/qr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const char shown[] = "█████████████████████████████\n"
                            "██ ▄▄▄▄▄ ██▄▀▀ ██ ▄█ ▄▄▄▄▄ ██\n"
                            "██ █   █ █▄  ▀▄█▄▄██ █   █ ██\n"
                            "██ █▄▄▄█ ██▀▄████  █ █▄▄▄█ ██\n"
                            "██▄▄▄▄▄▄▄█ ▀ █ ▀ ▀▄█▄▄▄▄▄▄▄██\n"
                            "██  ▄▀  ▄  █  █▄ ██▄ ▀██▄█▀██\n"
                            "██ ████▀▄▀ ▄█▀█ ▄█ ▀   █▄ ▄██\n"
                            "███ ▀ ▄▀▄ █▀█▀ ▄ ▄▄▀  █ █▄ ██\n"
                            "██▄▀ ▄▀ ▄    ▄ ▀▄▀▄ ▀ ▄▀▄ ▄██\n"
                            "██▄██▄██▄█▀█▀ ▄  ▄ ▄▄▄  ▀▀▀██\n"
                            "██ ▄▄▄▄▄ █ ▀ █▀▀▄  █▄█ ▀█▄▄██\n"
                            "██ █   █ █▄  ▄▄▄ ▀  ▄▄ █▀████\n"
                            "██ █▄▄▄█ █ ▀█▀▄▀▄▄  ██  █▀▄██\n"
                            "██▄▄▄▄▄▄▄█▄▄███▄▄█▄▄▄▄███▄▄██\n"
                            "█████████████████████████████\n";

static void test_an_address(void **state)
{
    (void)state;
    qr code;
    char text[4096];
    assert_true(qr_make(&code, "http://192.168.1.23:8080/"));
    assert_int_equal(code.size, 25);
    assert_int_equal(qr_write(&code, text, sizeof text), sizeof shown - 1);
    assert_string_equal(text, shown);
    assert_int_equal(qr_write(&code, text, 10), sizeof shown - 1);
    assert_int_equal(strlen(text), 9);
}

// Three corners have the same square, and the fourth has none.
static void test_each_version_at_its_edge(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        unsigned size;
    } cases[] = { { 0, 21 },  { 17, 21 }, { 18, 25 }, { 32, 25 }, { 33, 29 },
                  { 53, 29 }, { 54, 33 }, { 78, 33 }, { 79, 37 }, { 106, 37 } };
    char text[QR_TEXT_OCTETS_MAX + 2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qr code;
        memset(text, 'a', cases[i].len);
        text[cases[i].len] = 0;
        assert_true(qr_make(&code, text));
        unsigned last = code.size - 1;
        assert_int_equal(code.size, cases[i].size);
        for (unsigned y = 0; y < 8; y++) {
            for (unsigned x = 0; x < 8; x++) {
                assert_int_equal(code.dark[y][x], code.dark[y][last - x]);
                assert_int_equal(code.dark[y][x], code.dark[last - y][x]);
            }
        }
        assert_true(code.dark[last - 7][8]);
    }
    memset(text, 'a', sizeof text);
    text[QR_TEXT_OCTETS_MAX + 1] = 0;
    qr code;
    assert_false(qr_make(&code, text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_address),
        cmocka_unit_test(test_each_version_at_its_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
