// SPDX-License-Identifier: MIT
//
// Hellos are looked at as they come, cut anywhere, with each outcome the same.

#include "net/tls_hello.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RECORD(len) "\x16\x03\x01\x00" len
#define CCS "\x14\x03\x03\x00\x01\x01"
#define HELLO_OF_2 "\x01\x00\x00\x02hi"
#define LONGEST "\x01\x00\x40\x00" // announces 16,384 octets
#define TOO_LONG "\x01\x00\x40\x01"

#define OCTETS(literal) { literal, sizeof(literal) - 1 }

typedef struct hello_case {
    const char *what;
    slice octets;
    bool passes_1_3, passes_1_2;
} hello_case;

static const hello_case cases[] = {
    { "a hello", OCTETS(RECORD("\x06") HELLO_OF_2), true, true },
    { "the longest", OCTETS(RECORD("\x06") LONGEST "hi"), true, true },
    { "too long", OCTETS(RECORD("\x04") TOO_LONG), false, false },
    { "far too long", OCTETS(RECORD("\x04") "\x01\xff\xff\xff"), false, false },
    { "another message", OCTETS(RECORD("\x04") "\x0b\x00\x40\x01"), true, true },
    { "a message behind another", OCTETS(RECORD("\x0a") HELLO_OF_2 TOO_LONG), false, false },
    { "an empty one before", OCTETS(RECORD("\x08") "\x00\x00\x00\x00" TOO_LONG), false, false },
    { "in two records", OCTETS(RECORD("\x02") "\x01\x00" RECORD("\x02") "\x40\x01"), false, false },
    { "an empty record between",
      OCTETS(RECORD("\x02") "\x01\x00" RECORD("\x00") RECORD("\x02") "\x40\x01"), false, false },
    { "a second one", OCTETS(RECORD("\x06") HELLO_OF_2 RECORD("\x04") TOO_LONG), false, false },
    { "a second one behind a change_cipher_spec",
      OCTETS(RECORD("\x06") HELLO_OF_2 CCS RECORD("\x04") TOO_LONG), false, true },
    { "application data between", OCTETS(RECORD("\x06") HELLO_OF_2 "\x17\x03\x03\x00\x04" TOO_LONG),
      true, true },
};

static bool passes(const hello_case *c, size_t cut, size_t step, bool is_1_3)
{
    tls_hello hello = { 0 };
    if (!tls_hello_look(&hello, slice_make(c->octets.ptr, cut), is_1_3)) return false;
    for (size_t i = cut; i < c->octets.len; i += step) {
        size_t rest = c->octets.len - i;
        slice part = slice_make(c->octets.ptr + i, rest < step ? rest : step);
        if (!tls_hello_look(&hello, part, is_1_3)) return false;
    }
    return true;
}

static void test_hellos_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hello_case *c = &cases[i];
        for (size_t cut = 0; cut <= c->octets.len; cut++) {
            for (size_t step = 1; step <= c->octets.len; step++) {
                if (passes(c, cut, step, true) != c->passes_1_3 ||
                    passes(c, cut, step, false) != c->passes_1_2)
                    fail_msg("%s, cut at %zu, then by %zu", c->what, cut, step);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hellos_cut_anywhere) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
