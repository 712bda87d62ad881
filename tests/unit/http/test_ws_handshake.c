// SPDX-License-Identifier: MIT
//
// The fields of WebSocket's handshake: each text flush against a forbidden page.

#include "http/ws_handshake.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct text_case {
    const char *text;
    bool valid;
} text_case;

static void check_cases(bool (*is_valid)(slice), const text_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(cases[i].text);
        char *copy = GUARDED_TEXT(cases[i].text);
        bool valid = is_valid(slice_make(copy, len));
        guarded_free(copy, len);
        if (valid != cases[i].valid) fail_msg("%s", cases[i].text);
    }
}

#define CHECK_CASES(is_valid, cases) check_cases(is_valid, cases, sizeof(cases) / sizeof *(cases))

static void test_keys(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "dGhlIHNhbXBsZSBub25jZQ==", true },
        { "AAAAAAAAAAAAAAAAAAAAAA==", true },
        { "++++////////////////09==", true },
        { "", false },
        { "dGhlIHNhbXBsZSBub25jZQ=", false },
        { "dGhlIHNhbXBsZSBub25jZQ===", false },
        { "dGhlIHNhbXBsZSBub25jZQA=", false },
        { "dGhlIHNhbXBsZSBub25jZQAA", false },
        { "dGhlIHNhbXBsZSBub25j-Q==", false },
        { "dGhlIHNhbXBsZSBub25j Q==", false },
        { "=GhlIHNhbXBsZSBub25jZQ==", false },
        { "dGhlIHNhbXBsZSBub25jZQ==,dGhlIHNhbXBsZSBub25jZQ==", false },
    };
    CHECK_CASES(ws_key_is_valid, cases);
    assert_false(ws_key_is_valid(slice_make("dGhlIHNhbXBs\0SBub25jZQ==", 24)));
}

// RFC 6455 §1.3.
static void test_accept(void **state)
{
    (void)state;
    char accept[WS_ACCEPT_OCTETS + 1] = "";
    char *key = GUARDED_TEXT("dGhlIHNhbXBsZSBub25jZQ==");
    ws_accept(slice_make(key, 24), accept);
    guarded_free(key, 24);
    assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void test_protocols(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "chat", true },      { "chat, superchat", true },
        { "a,b,,c", true },    { " a ", true },
        { "v1.json+x", true }, { "", false },
        { ",", false },        { "a b", false },
        { "\"a\"", false },    { "a,b/c", false },
        { "a;q=1", false },
    };
    CHECK_CASES(ws_protocols_are_valid, cases);
}

static void test_extensions(void **state)
{
    (void)state;
    static const text_case cases[] = {
        { "permessage-deflate", true },
        { "permessage-deflate; client_max_window_bits", true },
        { "permessage-deflate; client_max_window_bits=10 ; server_no_context_takeover", true },
        { "a;b=\"c\", d ; e = \"\\f\\g\"", true },
        { "a,,b", true },
        { "", false },
        { ",", false },
        { ";a", false },
        { "a;", false },
        { "a;b=", false },
        { "a;=b", false },
        { "a=b", false },
        { "a b", false },
        { "a;b c", false },
        { "a;b=c d", false },
        { "a;b=\"c", false },
        { "a;b=\"\"", false },
        { "a;b=\"c d\"", false },
        { "a;b=\"c\\", false },
        { "a;b=\"c\"d", false },
        { "a;b=\"c, d\"", false },
        { "a, ;b", false },
    };
    CHECK_CASES(ws_extensions_are_valid, cases);
}

static void expect_choice(const char *spoken, const char *offered, const char *wanted)
{
    slice chosen = ws_protocol_choose(slice_of(spoken), slice_of(offered));
    if (!slice_equal(chosen, slice_of(wanted)))
        fail_msg("%s of %s: %.*s", spoken, offered, SKUA_ARG(chosen));
}

static void test_the_first_protocol_that_both_speak(void **state)
{
    (void)state;
    expect_choice("chat", "superchat, chat", "chat");
    expect_choice("v2 v1", "v1,v2", "v2");
    expect_choice(" v2  v1 ", "v1", "v1");
    expect_choice("v2 v1", "V1", "");
    expect_choice("v2", "v22, v", "");
    expect_choice("", "chat", "");
    assert_true(ws_list_has(SKUA_SLICE("13, 8"), SKUA_SLICE("13")));
    assert_false(ws_list_has(SKUA_SLICE("130"), SKUA_SLICE("13")));
}

typedef struct origin_case {
    const char *origin, *host, *allowed;
    bool secure, is_allowed;
} origin_case;

static void test_origins(void **state)
{
    (void)state;
    static const origin_case cases[] = {
        { "http://example.org", "example.org", NULL, false, true },
        { "https://example.org", "example.org", NULL, false, true }, // a proxy may have spoken TLS
        { "https://example.org", "example.org", NULL, true, true },
        { "http://example.org", "example.org", NULL, true, false },
        { "HTTP://Example.ORG", "example.org", NULL, false, true },
        { "http://example.org:80", "example.org", NULL, false, true },
        { "http://example.org", "example.org:80", NULL, false, true },
        { "https://example.org:443", "example.org", NULL, true, true },
        { "http://example.org:8080", "example.org:8080", NULL, false, true },
        { "http://example.org:8080", "example.org:8081", NULL, false, false },
        { "http://example.org:8080", "example.org", NULL, false, false },
        { "http://example.org", "example.org:8080", NULL, false, false },
        { "https://example.org", "example.org:80", NULL, false, false },
        { "http://[::1]:8080", "[::1]:8080", NULL, false, true },
        { "http://[::1]", "[::2]", NULL, false, false },
        { "http://evil.org", "example.org", NULL, false, false },
        { "http://example.org.evil.org", "example.org", NULL, false, false },
        { "http://example.org@evil.org", "example.org", NULL, false, false },
        { "http://example.org/x", "example.org", NULL, false, false },
        { "http://example.org:99999", "example.org:99999", NULL, false, false },
        { "http://", "", NULL, false, false },
        { "null", "null", NULL, false, false },
        { "null", "example.org", "http://a.org null", false, false },
        { "null", "example.org", "*", false, true },
        { "file://", "example.org", NULL, false, false },
        { "ftp://example.org", "example.org", NULL, false, false },
        { "", "", NULL, false, false },
        { "http://a.org", "example.org", "http://a.org https://b.org:8443", false, true },
        { "http://a.org:80", "example.org", " http://a.org", false, true },
        { "https://b.org:8443", "example.org", "http://a.org https://b.org:8443", true, true },
        { "https://b.org", "example.org", "http://a.org https://b.org:8443", false, false },
        { "https://a.org", "example.org", "http://a.org", false, false },
        { "http://example.org", "example.org", "http://a.org", false, false },
        { "http://any.org", "example.org", "*", false, true },
        { "http://a.org", "example.org", "", false, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const origin_case *c = &cases[i];
        size_t len = strlen(c->origin), host_len = strlen(c->host);
        char *origin = GUARDED_TEXT(c->origin), *host = GUARDED_TEXT(c->host);
        bool is_allowed = ws_origin_is_allowed(slice_make(origin, len), slice_make(host, host_len),
                                               c->secure, c->allowed);
        guarded_free(origin, len);
        guarded_free(host, host_len);
        if (is_allowed != c->is_allowed) fail_msg("%s at %s, case %zu", c->origin, c->host, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_the_first_protocol_that_both_speak),
        cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
