// SPDX-License-Identifier: MIT
//
// Heads of HTTP/2: each rule of RFC 9113 §8.2 and §8.3 for the fields of a request, what becomes of
// those that hold to them, and limits at their edges. Fields are judged as HPACK's decoder does it.

#include "http/h2_head.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LINES_MAX = 12, FIELDS_MAX = 8, ROOM_OCTETS = 4096 };

typedef struct line {
    const char *name, *value;
} line;

#define GET_LINES                                                                                  \
    { ":method", "GET" }, { ":scheme", "http" },                                                   \
    {                                                                                              \
        ":path", "/"                                                                               \
    }
#define USUAL                                                                                      \
    GET_LINES,                                                                                     \
    {                                                                                              \
        ":authority", "a.test"                                                                     \
    }

static const head_limits usual = { .head_octets_max = 1024,
                                   .target_octets_max = 16,
                                   .method_octets_max = 8,
                                   .fields_max = FIELDS_MAX };

// A head, with room that most of the cases outgrow.
typedef struct reading {
    request_head head;
    head_field fields[FIELDS_MAX];
    char small[16], large[ROOM_OCTETS];
    h2_head_reader in;
    fault why;
} reading;

static void take(h2_head_reader *in, const char *name, const char *value)
{
    hpack_field field = { .name = slice_of(name), .value = slice_of(value) };
    hpack_field_judge_name(&field);
    hpack_field_judge_value(&field);
    h2_head_take(in, &field);
}

static void begin(reading *r, const head_limits *limits)
{
    assert_true(h2_head_room(limits) <= sizeof r->large);
    head_init(&r->head, limits, r->fields);
    h2_head_begin(&r->in, &r->head, r->small, sizeof r->small, r->large);
}

static void read_lines(reading *r, const head_limits *limits, const line *lines, bool tunnels,
                       bool ends)
{
    begin(r, limits);
    r->in.tunnels = tunnels;
    for (; lines->name; lines++)
        take(&r->in, lines->name, lines->value);
    r->why = h2_head_end(&r->in, ends);
}

// ---- Verdicts ----

// STREAM: malformed, and reset with PROTOCOL_ERROR. status: of a request that is answered.
enum { GOOD = 0, STREAM = -1 };

static const struct {
    line lines[LINES_MAX];
    int verdict;
    const char *reason;
} cases[] = {
    { { USUAL }, GOOD, "" },
    { { { ":path", "/" }, { ":authority", "a" }, { ":scheme", "https" }, { ":method", "GET" } },
      GOOD,
      "" },
    { { GET_LINES, { "host", "a.test" } }, GOOD, "" },
    // One is missing.
    { { { ":scheme", "http" }, { ":path", "/" }, { ":authority", "a" } },
      STREAM,
      "a pseudo-field is missing" },
    { { { ":method", "GET" }, { ":path", "/" }, { ":authority", "a" } },
      STREAM,
      "a pseudo-field is missing" },
    { { { ":method", "GET" }, { ":scheme", "http" }, { ":authority", "a" } },
      STREAM,
      "a pseudo-field is missing" },
    { { { NULL, NULL } }, STREAM, "a pseudo-field is missing" },
    { { GET_LINES }, 400, "Host missing" },
    // One comes twice, or late, or is not of requests.
    { { USUAL, { ":method", "GET" } }, STREAM, "a pseudo-field twice" },
    { { USUAL, { ":scheme", "http" } }, STREAM, "a pseudo-field twice" },
    { { USUAL, { ":path", "/" } }, STREAM, "a pseudo-field twice" },
    { { USUAL, { ":authority", "a.test" } }, STREAM, "a pseudo-field twice" },
    { { GET_LINES, { "a", "b" }, { ":authority", "a" } }, STREAM, "a pseudo-field behind others" },
    { { USUAL, { "a", "b" }, { ":path", "/" } }, STREAM, "a pseudo-field behind others" },
    { { USUAL, { ":status", "200" } }, STREAM, "a pseudo-field that requests do not have" },
    { { USUAL, { ":other", "a" } }, STREAM, "malformed field name" },
    { { USUAL, { ":Path", "/" } }, STREAM, "malformed field name" },
    { { USUAL, { ":", "/" } }, STREAM, "malformed field name" },
    { { USUAL, { ":protocol", "websocket" } }, STREAM, ":protocol is not announced" },
    // Values of pseudo-fields.
    { { { ":method", "" }, { ":scheme", "http" }, { ":path", "/" }, { ":authority", "a" } },
      STREAM,
      "malformed method" },
    { { { ":method", "G T" }, { ":scheme", "http" }, { ":path", "/" }, { ":authority", "a" } },
      STREAM,
      "malformed method" },
    { { { ":method", "GET" }, { ":scheme", "http" }, { ":path", "" }, { ":authority", "a" } },
      STREAM,
      "an empty path" },
    { { { ":method", "GET" }, { ":scheme", "http" }, { ":path", "a" }, { ":authority", "a" } },
      400,
      "malformed target" },
    { { { ":method", "GET" }, { ":scheme", "http" }, { ":path", "*a" }, { ":authority", "a" } },
      400,
      "malformed target" },
    { { { ":method", "GET" }, { ":scheme", "ftp" }, { ":path", "/" }, { ":authority", "a" } },
      400,
      "a scheme that is not served" },
    { { GET_LINES, { ":authority", "a@b" } }, 400, "malformed Host" },
    { { GET_LINES, { "host", "a b" } }, 400, "malformed Host" },
    // The authority is stated twice.
    { { USUAL, { "host", "a.test" } }, GOOD, "" },
    { { USUAL, { "host", "A.Test" } }, GOOD, "" },
    { { USUAL, { "host", "b.test" } }, STREAM, "Host differs from :authority" },
    { { USUAL, { "host", "a.test:80" } }, STREAM, "Host differs from :authority" },
    { { USUAL, { "host", "" } }, STREAM, "Host differs from :authority" },
    { { USUAL, { "host", "a.test" }, { "host", "a.test" } }, STREAM, "Host repeated" },
    { { GET_LINES, { "host", "a" }, { "host", "a" } }, STREAM, "Host repeated" },
    // Fields of a connection.
    { { USUAL, { "connection", "close" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "connection", "" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "keep-alive", "timeout=1" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "proxy-connection", "a" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "transfer-encoding", "chunked" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "upgrade", "h2c" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "te", "trailers" } }, GOOD, "" },
    { { USUAL, { "te", "Trailers" } }, GOOD, "" },
    { { USUAL, { "te", "" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "te", "gzip" } }, STREAM, "a field of HTTP/1's connections" },
    { { USUAL, { "te", "trailers, gzip" } }, STREAM, "a field of HTTP/1's connections" },
    // Names and values.
    { { USUAL, { "", "a" } }, STREAM, "malformed field name" },
    { { USUAL, { "A", "a" } }, STREAM, "malformed field name" },
    { { USUAL, { "a b", "a" } }, STREAM, "malformed field name" },
    { { USUAL, { "a", " b" } }, STREAM, "malformed field value" },
    { { USUAL, { "a", "b\n" } }, STREAM, "malformed field value" },
    { { USUAL, { "a", "" } }, GOOD, "" },
    // HTTP/1 refuses these too.
    { { USUAL, { "content-length", "0" } }, GOOD, "" },
    { { USUAL, { "content-length", "0" }, { "content-length", "0" } },
      STREAM,
      "Content-Length repeated" },
    { { USUAL, { "content-length", "" } }, STREAM, "malformed Content-Length" },
    { { USUAL, { "content-length", "-1" } }, STREAM, "malformed Content-Length" },
    { { USUAL, { "content-length", "1, 1" } }, STREAM, "malformed Content-Length" },
    { { USUAL, { "content-length", "9223372036854775808" } }, STREAM, "malformed Content-Length" },
    { { USUAL, { "content-length", "1" } }, STREAM, "less content than Content-Length says" },
    { { USUAL, { "expect", "100-Continue" } }, GOOD, "" },
    { { USUAL, { "expect", "something" } }, 417, "unknown expectation" },
    // The first fault is the one that counts.
    { { USUAL, { "expect", "something" }, { "connection", "close" } }, 417, "unknown expectation" },
    { { USUAL, { "connection", "close" }, { "expect", "something" } },
      STREAM,
      "a field of HTTP/1's connections" },
    // CONNECT has an authority alone.
    { { { ":method", "CONNECT" }, { ":authority", "a:1" } }, GOOD, "" },
    { { { ":method", "CONNECT" } }, STREAM, "a CONNECT with a path, or without an authority" },
    { { { ":method", "CONNECT" }, { "host", "a:1" } },
      STREAM,
      "a CONNECT with a path, or without an authority" },
    { { { ":method", "CONNECT" }, { ":authority", "a:1" }, { ":path", "/" } },
      STREAM,
      "a CONNECT with a path, or without an authority" },
    { { { ":method", "CONNECT" }, { ":authority", "a:1" }, { ":scheme", "http" } },
      STREAM,
      "a CONNECT with a path, or without an authority" },
};

static int verdict_of(fault why)
{
    if (!why.status) return GOOD;
    if (why.scope != FAULT_STREAM) return why.status;
    assert_int_equal(why.h2_code, H2_PROTOCOL_ERROR);
    return STREAM;
}

static void test_h2_head_verdicts(void **state)
{
    (void)state;
    static reading r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        read_lines(&r, &usual, cases[i].lines, false, true);
        if (verdict_of(r.why) != cases[i].verdict || strcmp(r.why.reason, cases[i].reason) != 0)
            fail_msg("case %zu (%s): %d, %s", i, cases[i].reason, verdict_of(r.why), r.why.reason);
    }
}

// ---- Extended CONNECT ----

static const struct {
    line lines[LINES_MAX];
    int verdict;
} tunnels[] = {
    { { { ":method", "CONNECT" },
        { ":protocol", "websocket" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      GOOD },
    { { { ":method", "CONNECT" }, { ":protocol", "websocket" }, { ":authority", "a" } }, STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "websocket" },
        { ":scheme", "https" },
        { ":path", "/chat" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "websocket" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { "host", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "websocket" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "web socket" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "a/" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "/1" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "a/b/c" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      STREAM },
    { { { ":method", "CONNECT" },
        { ":protocol", "a/1" },
        { ":scheme", "https" },
        { ":path", "/chat" },
        { ":authority", "a" } },
      GOOD },
    { { USUAL, { ":protocol", "websocket" } }, STREAM },
    { { { ":method", "CONNECT" }, { ":authority", "a:1" } }, GOOD },
};

static void test_h2_head_extended_connect(void **state)
{
    (void)state;
    static reading r;
    for (size_t i = 0; i < sizeof tunnels / sizeof *tunnels; i++) {
        read_lines(&r, &usual, tunnels[i].lines, true, false);
        if (verdict_of(r.why) != tunnels[i].verdict) fail_msg("case %zu: %s", i, r.why.reason);
    }
    // To routes it is a GET of its path.
    read_lines(&r, &usual, tunnels[0].lines, true, false);
    assert_true(slice_equal(head_method(&r.head, r.in.text), SKUA_SLICE("GET")));
    assert_true(slice_equal(head_target(&r.head, r.in.text), SKUA_SLICE("/chat")));
    assert_true(slice_equal(slice_make(r.in.text + r.in.protocol, r.in.protocol_len),
                            SKUA_SLICE("websocket")));
}

// ---- What is kept ----

static void expect_line(const reading *r, size_t i, const char *name, const char *value)
{
    assert_true(i < r->head.count);
    assert_true(slice_equal(head_name(&r->head, r->in.text, i), slice_of(name)));
    assert_true(slice_equal(head_value(&r->head, r->in.text, i), slice_of(value)));
}

static void test_h2_head_is_kept(void **state)
{
    (void)state;
    static reading r;
    const line lines[] = { USUAL,
                           { "x-other", "b" },
                           { "content-length", "9223372036854775807" },
                           { "expect", "100-continue" },
                           { "priority", "u=1" },
                           { NULL, NULL } };
    read_lines(&r, &usual, lines, false, false);
    assert_int_equal(verdict_of(r.why), GOOD);
    assert_int_equal(r.head.version, 20);
    assert_true(r.head.keep_alive);
    assert_true(slice_equal(head_method(&r.head, r.in.text), SKUA_SLICE("GET")));
    assert_true(slice_equal(head_target(&r.head, r.in.text), SKUA_SLICE("/")));
    assert_int_equal(r.head.count, 5);
    assert_int_equal(r.head.host, 1);
    expect_line(&r, 0, "host", "a.test");
    expect_line(&r, 1, "x-other", "b");
    expect_line(&r, 4, "priority", "u=1");
    assert_int_equal(r.in.priority, 5);
    assert_int_equal(r.head.content, HEAD_CONTENT_LENGTH);
    assert_true(r.head.content_length == INT64_MAX);
    assert_true(r.head.expect_continue);
}

static void test_h2_head_host_alone_is_the_authority(void **state)
{
    (void)state;
    static reading r;
    const line lines[] = { GET_LINES, { "a", "b" }, { "host", "a.test" }, { NULL, NULL } };
    read_lines(&r, &usual, lines, false, true);
    assert_int_equal(verdict_of(r.why), GOOD);
    assert_int_equal(r.head.host, 2);
    expect_line(&r, 1, "host", "a.test");
}

static void test_h2_head_connect_asks_for_its_authority(void **state)
{
    (void)state;
    static reading r;
    const line lines[] = { { ":method", "CONNECT" }, { ":authority", "a:1" }, { NULL, NULL } };
    read_lines(&r, &usual, lines, false, false);
    assert_int_equal(verdict_of(r.why), GOOD);
    assert_true(slice_equal(head_target(&r.head, r.in.text), SKUA_SLICE("a:1")));
    assert_int_equal(r.head.content, HEAD_CONTENT_STREAMED);
}

// A message that ends with its head has no content to go on with.
static void test_h2_head_that_ends_has_no_content(void **state)
{
    (void)state;
    static reading r;
    const line lines[] = { USUAL, { "expect", "100-continue" }, { NULL, NULL } };
    read_lines(&r, &usual, lines, false, true);
    assert_int_equal(verdict_of(r.why), GOOD);
    assert_int_equal(r.head.content, HEAD_CONTENT_NONE);
    assert_false(r.head.expect_continue);
}

// Cookies are one line where the first was, also when others have come between.
static void test_h2_head_cookies_are_joined(void **state)
{
    (void)state;
    static reading r;
    const line lines[] = { USUAL,
                           { "cookie", "a=1" },
                           { "cookie", "b=2" },
                           { "x-one", "1" },
                           { "cookie", "c=3" },
                           { "x-two", "2" },
                           { "cookie", "" },
                           { NULL, NULL } };
    read_lines(&r, &usual, lines, false, true);
    assert_int_equal(verdict_of(r.why), GOOD);
    assert_int_equal(r.head.count, 4);
    expect_line(&r, 0, "host", "a.test");
    expect_line(&r, 1, "cookie", "a=1; b=2; c=3; ");
    expect_line(&r, 2, "x-one", "1");
    expect_line(&r, 3, "x-two", "2");
    assert_true(slice_equal(head_method(&r.head, r.in.text), SKUA_SLICE("GET")));
    assert_true(slice_equal(head_target(&r.head, r.in.text), SKUA_SLICE("/")));
}

// ---- Limits ----

static const struct {
    const char *method, *path;
    int verdict;
} lengths[] = {
    { "ABCDEFGH", "/", GOOD },
    { "ABCDEFGHI", "/", 501 },
    { "GET", "/123456789012345", GOOD },
    { "GET", "/1234567890123456", 414 },
};

static void test_h2_head_method_and_target_at_their_limits(void **state)
{
    (void)state;
    static reading r;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const line lines[] = { { ":method", lengths[i].method },
                               { ":scheme", "http" },
                               { ":path", lengths[i].path },
                               { ":authority", "a" },
                               { NULL, NULL } };
        read_lines(&r, &usual, lines, false, true);
        assert_int_equal(verdict_of(r.why), lengths[i].verdict);
    }
}

// Host is one of the fields; all cookies together are another.
static void test_h2_head_fields_at_their_limit(void **state)
{
    (void)state;
    static reading r;
    for (unsigned others = FIELDS_MAX - 2; others <= FIELDS_MAX - 1; others++) {
        const line pseudo[] = { USUAL };
        begin(&r, &usual);
        for (size_t i = 0; i < sizeof pseudo / sizeof *pseudo; i++)
            take(&r.in, pseudo[i].name, pseudo[i].value);
        for (unsigned i = 0; i < others; i++)
            take(&r.in, "a", "b");
        for (unsigned i = 0; i < 4; i++)
            take(&r.in, "cookie", "c");
        r.why = h2_head_end(&r.in, true);
        assert_int_equal(verdict_of(r.why), others == FIELDS_MAX - 2 ? GOOD : 431);
    }
}

// The list counts 32 octets more for each line. One octet too many is 431, and the list is counted on.
static void test_h2_head_list_at_its_limit(void **state)
{
    (void)state;
    static reading r;
    static char value[2048];
    const line pseudo[] = { USUAL };
    for (unsigned over = 0; over < 2; over++) {
        begin(&r, &usual);
        for (size_t i = 0; i < sizeof pseudo / sizeof *pseudo; i++)
            take(&r.in, pseudo[i].name, pseudo[i].value);
        uint64_t most = h2_list_octets_max(&usual);
        assert_int_equal(most, 1024 + 32 * FIELDS_MAX);
        size_t len = (size_t)(most - r.in.list_octets) - 1 - HPACK_ENTRY_OVERHEAD + over;
        memset(value, 'v', len);
        value[len] = '\0';
        take(&r.in, "a", value);
        assert_int_equal(r.in.list_octets, most + over);
        assert_int_equal(verdict_of(r.in.fault), over ? 431 : GOOD);
        take(&r.in, "b", "c");
        assert_int_equal(r.in.list_octets, most + over + 34);
        assert_int_equal(verdict_of(h2_head_end(&r.in, true)), 431);
    }
}

// A string that the decoder has not kept.
static void test_h2_head_field_that_is_too_long(void **state)
{
    (void)state;
    static reading r;
    begin(&r, &usual);
    const hpack_field field = { .octets = 5000, .flags = HPACK_IS_TOO_LONG };
    h2_head_take(&r.in, &field);
    assert_int_equal(r.in.list_octets, 5000);
    assert_int_equal(verdict_of(h2_head_end(&r.in, true)), 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h2_head_verdicts),
        cmocka_unit_test(test_h2_head_extended_connect),
        cmocka_unit_test(test_h2_head_is_kept),
        cmocka_unit_test(test_h2_head_host_alone_is_the_authority),
        cmocka_unit_test(test_h2_head_connect_asks_for_its_authority),
        cmocka_unit_test(test_h2_head_that_ends_has_no_content),
        cmocka_unit_test(test_h2_head_cookies_are_joined),
        cmocka_unit_test(test_h2_head_method_and_target_at_their_limits),
        cmocka_unit_test(test_h2_head_fields_at_their_limit),
        cmocka_unit_test(test_h2_head_list_at_its_limit),
        cmocka_unit_test(test_h2_head_field_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
