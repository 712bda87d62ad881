// SPDX-License-Identifier: MIT
//
// Unmasking: every length about the steps, every place in the key, flush against a forbidden page,
// beside and in place; and whether an octet beyond ASCII is seen wherever it stands.

#include "http/ws_mask.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { LENGTH_MAX = 420 };

static const uint8_t key[WS_KEY_OCTETS] = { 0x37, 0xfa, 0x21, 0x3d };

static void mask_plainly(char *out, const char *in, size_t len, uint64_t at)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (char)(in[i] ^ (char)key[(at + i) % WS_KEY_OCTETS]);
}

static void fill(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        text[i] = (char)((i * 37 + 11) & 0x7f);
}

static void check(const char *text, size_t len, uint64_t at, bool is_ascii)
{
    char masked[LENGTH_MAX];
    mask_plainly(masked, text, len, at);
    char *in = guarded_copy(masked, len), *out = guarded_copy(masked, len);
    assert_int_equal(ws_unmask(out, in, len, key, at), is_ascii);
    assert_memory_equal(in, masked, len);
    assert_memory_equal(out, text, len);
    assert_int_equal(ws_unmask(in, in, len, key, at), is_ascii);
    assert_memory_equal(in, text, len);
    guarded_free(in, len);
    guarded_free(out, len);
}

static void test_every_length_and_place(void **state)
{
    (void)state;
    char text[LENGTH_MAX];
    fill(text, sizeof text);
    for (size_t len = 0; len <= LENGTH_MAX; len += len < 24 || (len > 190 && len < 280) ? 1 : 13) {
        for (uint64_t at = 0; at < WS_KEY_OCTETS; at++)
            check(text, len, at, true);
    }
    check(text, 100, UINT64_MAX / 2, true);
}

static void test_an_octet_beyond_ascii_is_seen(void **state)
{
    (void)state;
    static const size_t lengths[] = { 1, 7, 8, 9, 23, 199, 200, 257, 300 };
    char text[LENGTH_MAX];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t at = 0; at < lengths[i]; at++) {
            fill(text, sizeof text);
            text[at] = (char)0x80;
            check(text, lengths[i], at, false);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_and_place),
        cmocka_unit_test(test_an_octet_beyond_ascii_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
