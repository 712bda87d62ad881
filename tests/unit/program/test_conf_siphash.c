// SPDX-License-Identifier: MIT
//
// SipHash: the vectors of its authors, for the octets 0, 1, 2 and so on under the key 0 to 15.

#include "program/conf/siphash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct sip_case {
    size_t len;
    const char *digest;
} sip_case;

static const sip_case cases[] = {
    { 0, "A3817F04BA25A8E66DF67214C7550293" },
    { 1, "DA87C1D86B99AF44347659119B22FC45" },
    { 8, "3B62A9BA6258F5610F83E264F31497B4" },
    { 20, "9E25FC833F2290733E9344A5E83839EB" },
};

static void write_digest(const uint64_t halves[2], char text[33])
{
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(text + 2 * i, 3, "%02X", (unsigned)(halves[i / 8] >> (8 * (i % 8)) & 0xff));
}

static void test_vectors(void **state)
{
    (void)state;
    const uint64_t key[2] = { 0x0706050403020100u, 0x0f0e0d0c0b0a0908u };
    char octets[20];
    for (size_t i = 0; i < sizeof octets; i++)
        octets[i] = (char)i;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t split = 0; split <= cases[i].len; split++) {
            uint64_t halves[2];
            char text[33];
            conf_siphash sip = conf_siphash_begin(key);
            conf_siphash_add(&sip, octets, split);
            conf_siphash_add(&sip, octets + split, cases[i].len - split);
            conf_siphash_end(&sip, halves);
            write_digest(halves, text);
            assert_string_equal(text, cases[i].digest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_vectors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
