// SPDX-License-Identifier: MIT
//
// The header of the PROXY protocol: whole, cut at every place, and at the end of memory.

#include "http/proxy_header.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define V4_PAIR "\300\0\2\1\12\0\0\1\x12\x67\0\120" // 192.0.2.1:4711 to 10.0.0.1:80
#define V6 "\x20\1\xd\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
#define V6_PAIR V6 V6 "\x12\x67\0\120"

typedef struct header_case {
    const char *octets;
    size_t len;
    uint8_t family;
    bool tls;
    const char *why; // NULL: it is right
} header_case;

#define RIGHT(text, family, tls) { text, sizeof text - 1, family, tls, NULL }
#define WRONG(text, why) { text, sizeof text - 1, 0, false, why }

static const header_case cases[] = {
    RIGHT("PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n", 4, false),
    RIGHT("PROXY TCP6 2001:db8::1 2001:db8::1 4711 80\r\n", 6, false),
    RIGHT("PROXY UNKNOWN\r\n", 0, false),
    RIGHT("PROXY UNKNOWN what ever  stands here\r\n", 0, false),
    RIGHT(
        "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
        "65535 65535\r\n",
        0, false), // the longest line
    WRONG(
        "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
        "65535 65535 \r\n",
        "longer than 107"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\n", "CR LF"),
    WRONG("PROXY \n", "CR LF"),
    WRONG("PROXY \r\n", "family"),
    WRONG("PROXY TCP5 192.0.2.1 10.0.0.1 4711 80\r\n", "family"),
    WRONG("PROXY tcp4 192.0.2.1 10.0.0.1 4711 80\r\n", "family"),
    WRONG("PROXY TCP4\r\n", "too early"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711\r\n", "too early"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711 \r\n", "too early"),
    WRONG("PROXY TCP4  192.0.2.1 10.0.0.1 4711 80\r\n", "too early"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711 80 1\r\n", "goes on"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711 80 \r\n", "goes on"),
    WRONG("PROXY TCP4 192.0.2.01 10.0.0.1 4711 80\r\n", "an address"),
    WRONG("PROXY TCP4 2001:db8::1 10.0.0.1 4711 80\r\n", "an address"),
    WRONG("PROXY TCP6 192.0.2.1 2001:db8::1 4711 80\r\n", "an address"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 04711 80\r\n", "a port"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 4711 65536\r\n", "a port"),
    WRONG("PROXY TCP4 192.0.2.1 10.0.0.1 -1 80\r\n", "a port"),
    WRONG("PROXX", "signature"),
    WRONG("GET", "signature"),
    WRONG("\x16", "signature"),
    RIGHT(SIGNATURE "\x21\x11\0\14" V4_PAIR, 4, false),
    RIGHT(SIGNATURE "\x21\x21\0\44" V6_PAIR, 6, false),
    RIGHT(SIGNATURE "\x20\0\0\0", 0, false),
    RIGHT(SIGNATURE "\x20\x11\0\14" V4_PAIR, 0, false),
    RIGHT(SIGNATURE "\x20\xff\0\2\1\377", 0, false),
    RIGHT(SIGNATURE "\x21\0\0\0", 0, false),
    RIGHT(SIGNATURE "\x21\0\0\3abc", 0, false),
    RIGHT(SIGNATURE "\x21\x11\0\17" V4_PAIR "\4\0\0", 4, false),
    RIGHT(SIGNATURE "\x21\x11\0\24" V4_PAIR "\x20\0\5\1\0\0\0\0", 4, true),
    RIGHT(SIGNATURE "\x21\x11\0\24" V4_PAIR "\x20\0\5\6\0\0\0\0", 4, false),
    RIGHT(SIGNATURE "\x21\x21\0\57" V6_PAIR "\1\0\0\x20\0\5\1\0\0\0\0", 6, true),
    WRONG(SIGNATURE "\x11\x11\0\14", "version"),
    WRONG(SIGNATURE "\x22\x11\0\14", "version"),
    WRONG(SIGNATURE "\x21\x12\0\14", "family"),  // UDP
    WRONG(SIGNATURE "\x21\x31\0\330", "family"), // a Unix socket
    WRONG(SIGNATURE "\x21\x10\0\14", "family"),
    WRONG(SIGNATURE "\x21\x11\0\13", "no room"),
    WRONG(SIGNATURE "\x21\x21\0\14", "no room"),
    WRONG(SIGNATURE "\x21\x11\x10\1", "longer than 4096"),
    WRONG(SIGNATURE "\x21\x11\0\15" V4_PAIR "\4", "inside"),
    WRONG(SIGNATURE "\x21\x11\0\17" V4_PAIR "\4\0\1", "fit"),
    WRONG(SIGNATURE "\x21\x11\0\23" V4_PAIR "\x20\0\4", "fit"),
    WRONG("\r\n\r\n\0\r\nQUIT\r", "signature"),
};

static void expect(const header_case *c, const proxy_header *header, proxy_news news,
                   const char *how)
{
    if (c->why) {
        if (news != PROXY_WRONG || !strstr(header->why, c->why))
            fail_msg("%s: %d, not wrong in \"%s\": %s", how, news, c->why, c->octets);
        return;
    }
    if (news != PROXY_COMPLETE) fail_msg("%s: not complete: %s: %s", how, header->why, c->octets);
    assert_int_equal(header->family, c->family);
    assert_int_equal(header->tls, c->tls);
    if (c->family) assert_int_equal(header->port, 4711);
    if (c->family == 4) assert_memory_equal(header->octets, "\300\0\2\1", 4);
    if (c->family == 6) assert_memory_equal(header->octets, V6, 16);
}

// The octets behind it are left.
static void headers_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const header_case *c = &cases[i];
        char text[256];
        memcpy(text, c->octets, c->len);
        memcpy(text + c->len, "GET /", 5);
        proxy_header header = { 0 };
        slice octets = slice_make(text, c->len + 5);
        expect(c, &header, proxy_header_read(&header, &octets), "whole");
        if (!c->why) assert_true(slice_equal(octets, SKUA_SLICE("GET /")));
    }
}

static proxy_news read_guarded(proxy_header *header, const char *octets, size_t len)
{
    char *copy = guarded_copy(octets, len);
    slice rest = slice_make(copy, len);
    proxy_news news = proxy_header_read(header, &rest);
    if (news != PROXY_WRONG) assert_int_equal(rest.len, 0);
    guarded_free(copy, len);
    return news;
}

static void headers_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const header_case *c = &cases[i];
        for (size_t cut = 0; cut <= c->len; cut++) {
            proxy_header header = { 0 };
            proxy_news news = read_guarded(&header, c->octets, cut);
            if (news == PROXY_NEEDS_MORE)
                news = read_guarded(&header, c->octets + cut, c->len - cut);
            else if (!c->why) assert_int_equal(cut, c->len);
            expect(c, &header, news, "cut");
        }
    }
}

static void headers_come_by_octets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const header_case *c = &cases[i];
        proxy_header header = { 0 };
        proxy_news news = PROXY_NEEDS_MORE;
        for (size_t at = 0; at < c->len && news == PROXY_NEEDS_MORE; at++)
            news = read_guarded(&header, c->octets + at, 1);
        expect(c, &header, news, "octet by octet");
    }
}

// Values of other types are skipped, up to the most that a header may have.
static void values_are_skipped(void **state)
{
    (void)state;
    static char text[16 + PROXY_REST_OCTETS_MAX] = SIGNATURE "\x21\x11\x10\0" V4_PAIR;
    size_t len = PROXY_REST_OCTETS_MAX - 12 - 3;
    text[28] = (char)0xe0;
    text[29] = (char)(len >> 8);
    text[30] = (char)(len & 0xff);
    proxy_header header = { 0 };
    assert_int_equal(read_guarded(&header, text, sizeof text - 1), PROXY_NEEDS_MORE);
    assert_int_equal(read_guarded(&header, text + sizeof text - 1, 1), PROXY_COMPLETE);
    assert_int_equal(header.family, 4);
    assert_false(header.tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),
        cmocka_unit_test(headers_are_cut),
        cmocka_unit_test(headers_come_by_octets),
        cmocka_unit_test(values_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
