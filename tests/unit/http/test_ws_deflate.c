// SPDX-License-Identifier: MIT
//
// Offers of permessage-deflate, and what is answered: each line flush against a forbidden page.

#include "http/ws_deflate.h"

#include "http/ws_handshake.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct offer_case {
    const char *line;
    unsigned bits;      // 0: no windows are kept
    const char *answer; // NULL: none of the offers is accepted
} offer_case;

#define PMD "permessage-deflate"
#define SERVER_ALONE "; server_no_context_takeover"
#define CLIENT_ALONE "; client_no_context_takeover"

static const offer_case offer_cases[] = {
    // Without windows that are kept.
    { PMD, 0, PMD SERVER_ALONE CLIENT_ALONE },
    { "Permessage-Deflate", 0, PMD SERVER_ALONE CLIENT_ALONE },
    { PMD SERVER_ALONE CLIENT_ALONE, 0, PMD SERVER_ALONE CLIENT_ALONE },
    { PMD "; client_max_window_bits", 0, PMD SERVER_ALONE CLIENT_ALONE },
    { PMD "; client_max_window_bits=8", 0, PMD SERVER_ALONE CLIENT_ALONE },
    { PMD "; server_max_window_bits=9", 0,
      PMD SERVER_ALONE CLIENT_ALONE "; server_max_window_bits=9" },
    { PMD "; SERVER_max_window_bits=15", 0,
      PMD SERVER_ALONE CLIENT_ALONE "; server_max_window_bits=15" },
    // With windows that are kept.
    { PMD, 15, PMD },
    { PMD SERVER_ALONE, 15, PMD SERVER_ALONE },
    { PMD CLIENT_ALONE, 15, PMD CLIENT_ALONE },
    { PMD "; client_max_window_bits", 15, PMD },
    { PMD "; client_max_window_bits=10", 15, PMD "; client_max_window_bits=10" },
    { PMD "; client_max_window_bits=8", 15, PMD "; client_max_window_bits=8" },
    { PMD "; client_max_window_bits=15", 15, PMD },
    { PMD "; server_max_window_bits=10", 15, PMD "; server_max_window_bits=10" },
    { PMD "; client_max_window_bits", 10, PMD "; client_max_window_bits=10" },
    { PMD "; client_max_window_bits=9", 10, PMD "; client_max_window_bits=9" },
    { PMD "; client_max_window_bits=14", 10, PMD "; client_max_window_bits=10" },
    { PMD "; server_max_window_bits=14", 10, PMD CLIENT_ALONE "; server_max_window_bits=10" },
    { PMD "; server_max_window_bits=9", 10, PMD CLIENT_ALONE "; server_max_window_bits=9" },
    { PMD, 10, PMD CLIENT_ALONE }, // its window may be of 15 bits
    { PMD CLIENT_ALONE "; client_max_window_bits", 10, PMD CLIENT_ALONE },
    // Spaces and quotes.
    { "  " PMD "\t;\tclient_max_window_bits  =\t\"11\" ", 12, PMD "; client_max_window_bits=11" },
    { PMD "; server_max_window_bits=\"1\\2\"; client_max_window_bits", 15,
      PMD "; server_max_window_bits=12" },
    // Those that are declined.
    { "", 15, NULL },
    { "x-webkit-deflate-frame", 15, NULL },
    { "permessage-deflate2", 15, NULL },
    { "permessage-bzip2", 15, NULL },
    { PMD "; server_max_window_bits=8", 15, NULL },
    { PMD "; server_max_window_bits=\"8\"", 0, NULL },
    { PMD "; server_max_window_bits", 15, NULL },
    { PMD "; server_max_window_bits=7", 15, NULL },
    { PMD "; server_max_window_bits=16", 15, NULL },
    { PMD "; server_max_window_bits=09", 15, NULL },
    { PMD "; server_max_window_bits=9x", 15, NULL },
    { PMD "; server_max_window_bits=x", 15, NULL },
    { PMD "; server_max_window_bits=100", 15, NULL },
    { PMD "; client_max_window_bits=0", 15, NULL },
    { PMD "; client_max_window_bits=+9", 15, NULL },
    { PMD "; client_max_window_bits=115", 15, NULL },
    { PMD "; server_no_context_takeover=1", 15, NULL },
    { PMD "; client_no_context_takeover=true", 15, NULL },
    { PMD SERVER_ALONE SERVER_ALONE, 15, NULL },
    { PMD CLIENT_ALONE CLIENT_ALONE, 15, NULL },
    { PMD "; client_max_window_bits; client_max_window_bits=9", 15, NULL },
    { PMD "; server_max_window_bits=9; server_max_window_bits=9", 15, NULL },
    { PMD "; mode=fast", 15, NULL },
    { PMD "; x", 0, NULL },
    // Several: the first that can be accepted.
    { PMD "; server_max_window_bits=8, " PMD CLIENT_ALONE, 15, PMD CLIENT_ALONE },
    { "foo; a=\"x, y\", " PMD "; x, " PMD SERVER_ALONE ", " PMD, 15, PMD SERVER_ALONE },
    { "foo; a=\"" PMD "\", bar", 15, NULL },
    { ",, " PMD ",", 15, PMD },
};

static void check_offer(const offer_case *one)
{
    ws_deflate_terms terms = { .server_bits = 99 };
    size_t len = strlen(one->line);
    char *line = GUARDED_TEXT(one->line), answer[WS_DEFLATE_FIELD_OCTETS_MAX];
    bool agreed = ws_deflate_agree(slice_make(line, len), one->bits, &terms);
    guarded_free(line, len);
    if (agreed != (one->answer != NULL)) fail_msg("%s, %u", one->line, one->bits);
    if (!agreed) {
        assert_int_equal(terms.server_bits, 99);
        return;
    }
    assert_true(terms.server_bits >= WS_DEFLATE_BITS_MIN &&
                terms.server_bits <= WS_DEFLATE_BITS_MAX);
    assert_true(!terms.client_keeps || terms.client_bits <= one->bits);
    slice written = slice_make(answer, ws_deflate_write(&terms, answer));
    if (!slice_equal(written, slice_of(one->answer)))
        fail_msg("%s, %u: %.*s", one->line, one->bits, (int)written.len, written.ptr);
    assert_true(ws_extensions_are_valid(written));
}

static void test_offers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof offer_cases / sizeof *offer_cases; i++)
        check_offer(&offer_cases[i]);
}

static void test_the_longest_answer(void **state)
{
    (void)state;
    const ws_deflate_terms terms = {
        .says_server_bits = true, .says_client_bits = true, .server_bits = 15, .client_bits = 15
    };
    char answer[WS_DEFLATE_FIELD_OCTETS_MAX];
    assert_true(ws_deflate_write(&terms, answer) <= sizeof answer);
}

static void test_windows_for_messages(void **state)
{
    (void)state;
    assert_int_equal(ws_deflate_bits_for(1, 15), 9);
    assert_int_equal(ws_deflate_bits_for(512, 15), 9);
    assert_int_equal(ws_deflate_bits_for(513, 15), 10);
    assert_int_equal(ws_deflate_bits_for(513, 9), 9);
    assert_int_equal(ws_deflate_bits_for(32768, 15), 15);
    assert_int_equal(ws_deflate_bits_for(SIZE_MAX, 15), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_the_longest_answer),
        cmocka_unit_test(test_windows_for_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
