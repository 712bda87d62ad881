// SPDX-License-Identifier: MIT
//
// Log lines: what each format looks like, and that nothing a peer sends can break out of one.

#include "log/log_line.h"
#include "log/mask.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#define SECRETS "token key"

// A line in JSON up to the request's members that differ.
#define JSON_BEFORE                                                                                \
    "{\"level\":\"info\",\"ts\":971211336.123456,\"logger\":\"http.log.access\","                  \
    "\"msg\":\"handled request\",\"request\":{\"remote_ip\":\"10.0.0.1\","                         \
    "\"client_ip\":\"127.0.0.1\","
#define JSON_ASKED(method, target)                                                                 \
    JSON_BEFORE "\"proto\":\"HTTP/1.1\",\"method\":\"" method                                      \
                "\",\"host\":\"example.org\",\"uri\":\"" target "\""
#define JSON_BEHIND ",\"duration\":0.000234567,\"size\":5120,\"status\":200"

static log_access sample(void)
{
    return (log_access){
        .unix_ns = 971211336123456789, // 2000-10-10T20:55:36Z
        .duration_ns = 234567,
        .peer = "127.0.0.1",
        .remote = "10.0.0.1",
        .host = slice_of("example.org"),
        .method = slice_of("GET"),
        .target = slice_of("/index.html?q=1"),
        .version = 11,
        .status = 200,
        .octets = 5120,
        .end = "",
    };
}

static void expect(skua_log_format format, bool coloured, const log_access *access,
                   const char *expected)
{
    static char line[LOG_LINE_OCTETS_MAX + 1];
    log_clock clock = { 0 };
    size_t len = log_line_request(&(log_style){ format, coloured, SECRETS }, &clock, access, line,
                                  LOG_LINE_OCTETS_MAX);
    line[len] = '\0';
    assert_string_equal(line, expected);
}

static void formats(void **state)
{
    (void)state;
    log_access access = sample();
    expect(SKUA_LOG_SHORT, false, &access,
           "13:55:36 200 GET /index.html?q=1 5.1 KB 0.2 ms 127.0.0.1\n");
    expect(
        SKUA_LOG_COMMON, false, &access,
        "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /index.html?q=1 HTTP/1.1\" 200 5120\n");
    expect(SKUA_LOG_JSON, false, &access,
           JSON_ASKED("GET", "/index.html?q=1") ",\"headers\":{}}" JSON_BEHIND "}\n");
}

// The server name is what a client has sent.
static void formats_of_a_request_over_tls(void **state)
{
    (void)state;
    log_access access = sample();
    access.tls_version = "TLSv1.3";
    access.tls_cipher = "TLS_AES_128_GCM_SHA256";
    access.end = "closed";
    expect(SKUA_LOG_SHORT, false, &access,
           "13:55:36 200 GET /index.html?q=1 5.1 KB 0.2 ms 127.0.0.1 closed\n");
    expect(
        SKUA_LOG_JSON, false, &access,
        JSON_ASKED(
            "GET",
            "/index.html?q=1") ",\"headers\":{},"
                               "\"tls\":{\"version\":\"TLSv1.3\",\"cipher_suite\":\"TLS_AES_128_GCM_SHA256\"}}" JSON_BEHIND
                               ",\"end\":\"closed\"}\n");
    access.server_name = slice_of("a\"\n.example");
    expect(
        SKUA_LOG_JSON, false, &access,
        JSON_ASKED(
            "GET",
            "/index.html?q=1") ",\"headers\":{},"
                               "\"tls\":{\"version\":\"TLSv1.3\",\"cipher_suite\":\"TLS_AES_128_GCM_SHA256\","
                               "\"server_name\":\"a\\\"\\u000a.example\"}}" JSON_BEHIND
                               ",\"end\":\"closed\"}\n");
    access = sample();
    access.id = slice_of("0af7651916cd43dd8448eb211c80319c");
    expect(SKUA_LOG_JSON, false, &access,
           JSON_ASKED("GET",
                      "/index.html?q=1") ",\"headers\":{}}" JSON_BEHIND
                                         ",\"request_id\":\"0af7651916cd43dd8448eb211c80319c\"}\n");
}

static void formats_of_a_request_cut_short(void **state)
{
    (void)state;
    log_access access = sample();
    access.octets = 0;
    access.version = 10;
    access.end = "closed";
    access.referer = slice_of("http://a/");
    access.user_agent = slice_of("curl \"8\"");
    expect(SKUA_LOG_SHORT, false, &access,
           "13:55:36 200 GET /index.html?q=1 0 B 0.2 ms 127.0.0.1 closed\n");
    expect(
        SKUA_LOG_COMMON, false, &access,
        "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /index.html?q=1 HTTP/1.0\" 200 - closed\n");
    expect(SKUA_LOG_JSON, false, &access,
           JSON_BEFORE "\"proto\":\"HTTP/1.0\",\"method\":\"GET\",\"host\":\"example.org\","
                       "\"uri\":\"/index.html?q=1\",\"headers\":{"
                       "\"User-Agent\":[\"curl \\\"8\\\"\"],\"Referer\":[\"http://a/\"]}},"
                       "\"duration\":0.000234567,\"size\":0,\"status\":200,\"end\":\"closed\"}\n");
    expect(SKUA_LOG_COMBINED, false, &access,
           "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /index.html?q=1 HTTP/1.0\" 200 - "
           "\"http://a/\" \"curl \\\"8\\\"\" closed\n");
    access.referer = access.user_agent = (slice){ 0 };
    expect(SKUA_LOG_COMBINED, false, &access,
           "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /index.html?q=1 HTTP/1.0\" 200 - "
           "\"-\" \"-\" closed\n");
}

static void formats_of_a_request_that_could_not_be_read(void **state)
{
    (void)state;
    log_access access = { .peer = "", .remote = "", .end = "timeout", .duration_ns = -1 };
    setenv("TZ", "UTC0", 1);
    tzset();
    expect(SKUA_LOG_SHORT, false, &access, "00:00:00 - - - 0 B 0.00 ms - timeout\n");
    expect(SKUA_LOG_COMMON, false, &access,
           "- - - [01/Jan/1970:00:00:00 +0000] \"-\" - - timeout\n");
    expect(
        SKUA_LOG_JSON, false, &access,
        "{\"level\":\"info\",\"ts\":0.000000,\"logger\":\"http.log.access\",\"msg\":\"handled request\","
        "\"request\":{\"remote_ip\":\"\",\"client_ip\":\"\",\"proto\":\"\",\"method\":\"\",\"host\":\"\","
        "\"uri\":\"\",\"headers\":{}},\"duration\":0.000000000,\"size\":0,\"status\":0,\"end\":\"timeout\"}\n");
    setenv("TZ", "PDT7", 1);
    tzset();
}

static void formats_of_a_request_that_was_refused(void **state)
{
    (void)state;
    log_access access = sample();
    access.version = 0;
    access.status = 400;
    access.method = slice_of("PUT");
    access.target = slice_of("/a b");
    access.reason = "a \"b\"";
    expect(SKUA_LOG_SHORT, false, &access,
           "13:55:36 400 PUT /a\\x20b 5.1 KB 0.2 ms 127.0.0.1 (a \"b\")\n");
    expect(SKUA_LOG_COMMON, false, &access,
           "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"PUT /a b\" 400 5120 (a \"b\")\n");
    expect(
        SKUA_LOG_JSON, false, &access,
        JSON_BEFORE
        "\"proto\":\"\",\"method\":\"PUT\",\"host\":\"example.org\",\"uri\":\"/a b\",\"headers\":{}},"
        "\"duration\":0.000234567,\"size\":5120,\"status\":400,"
        "\"reason\":\"a \\\"b\\\"\"}\n");
    access.method = slice_of("");
    expect(SKUA_LOG_COMMON, false, &access,
           "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"/a b\" 400 5120 (a \"b\")\n");
}

static void colours(void **state)
{
    (void)state;
    log_access access = sample();
    static const struct {
        int status;
        const char *colour;
    } cases[] = { { 200, "\033[32m200" },
                  { 304, "\033[36m304" },
                  { 404, "\033[33m404" },
                  { 503, "\033[31m503" },
                  { 0, "\033[2m-" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[256];
        access.status = cases[i].status;
        (void)snprintf(
            expected, sizeof expected,
            "13:55:36 %s\033[0m GET /index.html?q=1 \033[2m5.1 KB 0.2 ms 127.0.0.1\033[0m\n",
            cases[i].colour);
        expect(SKUA_LOG_SHORT, true, &access, expected);
    }
}

static void sizes_and_durations(void **state)
{
    (void)state;
    static const struct {
        uint64_t octets;
        int64_t duration_ns;
        const char *text;
    } cases[] = {
        { 0, 0, "0 B 0.00 ms" },
        { 999, 99999, "999 B 0.09 ms" },
        { 1000, 100000, "1.0 KB 0.1 ms" },
        { 999999, 9999999, "999.9 KB 9.9 ms" },
        { 1000000, 10000000, "1.0 MB 10 ms" },
        { 2500000000, 999999999, "2.5 GB 999 ms" },
        { 7000000000000, 1000000000, "7.0 TB 1.0 s" },
        { UINT64_MAX, 90000000000, "18446744.0 TB 90.0 s" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        log_access access = sample();
        access.octets = cases[i].octets;
        access.duration_ns = cases[i].duration_ns;
        (void)snprintf(expected, sizeof expected, "13:55:36 200 GET /index.html?q=1 %s 127.0.0.1\n",
                       cases[i].text);
        expect(SKUA_LOG_SHORT, false, &access, expected);
    }
}

static void clock_moves_on(void **state)
{
    (void)state;
    char line[LOG_LINE_OCTETS_MAX];
    log_clock clock = { 0 };
    log_access access = sample();
    for (int i = 0; i < 5; i++) {
        char expected[32];
        (void)log_line_request(&(log_style){ SKUA_LOG_SHORT, false, SECRETS }, &clock, &access,
                               line, sizeof line);
        int n = snprintf(expected, sizeof expected, "13:55:%02d 200 ", 36 + i);
        assert_memory_equal(line, expected, (size_t)n);
        access.unix_ns += 1000000000;
    }
}

// A text in SHORT, in COMMON and in JSON.
static void escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bare, *quoted, *json;
    } cases[] = {
        { "/a\r\nb", "/a\\x0d\\x0ab", "/a\\x0d\\x0ab", "/a\\u000d\\u000ab" },
        { "\x1b[2J", "\\x1b[2J", "\\x1b[2J", "\\u001b[2J" },
        { "a\x7f", "a\\x7f", "a\\x7f", "a\\u007f" },
        { "\"\\", "\\\"\\\\", "\\\"\\\\", "\\\"\\\\" },
        { "a b\t", "a\\x20b\\x09", "a b\\x09", "a b\\u0009" },
        { "\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xc2\xa0",
          "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0" },
        { "\x9b!", "\\x9b!", "\\x9b!", "\\\\x9b!" },
        { "é€😀", "é€😀", "é€😀", "é€😀" },
        { "\xe2\x80\xae\xe2\x80\xa8", "\\xe2\\x80\\xae\\xe2\\x80\\xa8",
          "\\xe2\\x80\\xae\\xe2\\x80\\xa8", "\\u202e\\u2028" },
        { "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf", "\\\\xc0\\\\xaf" }, // overlong
        { "\xe0\x80\xaf", "\\xe0\\x80\\xaf", "\\xe0\\x80\\xaf", "\\\\xe0\\\\x80\\\\xaf" },
        { "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80",
          "\\\\xed\\\\xa0\\\\x80" }, // surrogate
        { "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80",
          "\\\\xf4\\\\x90\\\\x80\\\\x80" },                           // past U+10FFFF
        { "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82", "\\\\xe2\\\\x82" }, // cut
        { "\xff\xfe", "\\xff\\xfe", "\\xff\\xfe", "\\\\xff\\\\xfe" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[512];
        size_t len = strlen(cases[i].text);
        char *guarded = guarded_copy(cases[i].text, len);
        log_access access = sample();
        access.method = slice_make(guarded, len);
        access.target = SKUA_SLICE("/a");
        (void)snprintf(expected, sizeof expected, "13:55:36 200 %s /a 5.1 KB 0.2 ms 127.0.0.1\n",
                       cases[i].bare);
        expect(SKUA_LOG_SHORT, false, &access, expected);
        (void)snprintf(expected, sizeof expected,
                       "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"%s /a HTTP/1.1\" 200 5120\n",
                       cases[i].quoted);
        expect(SKUA_LOG_COMMON, false, &access, expected);
        (void)snprintf(expected, sizeof expected,
                       JSON_ASKED("%s", "/a") ",\"headers\":{}}" JSON_BEHIND "}\n", cases[i].json);
        expect(SKUA_LOG_JSON, false, &access, expected);
        guarded_free(guarded, len);
    }
}

// A target is the same in every format, and can be asked for again.
static void targets_are_percent_encoded(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/a%20b?c=%C3%a9", "/a%20b?c=%C3%a9" },
        { "/a|b[1]{2}^`", "/a%7Cb%5B1%5D%7B2%7D%5E%60" },
        { "/?x=100%&y=%zz\\", "/?x=100%25&y=%25zz%5C" },
        { "/\xc3\xa9/\xe2\x80\xae", "/%C3%A9/%E2%80%AE" },
        { "/\xff\r\n\"", "/%FF%0D%0A%22" },
        { "http://[::1]:80/[1]", "http://[::1]:80/%5B1%5D" },
        { "[::1]:443", "[::1]:443" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[512];
        size_t len = strlen(cases[i][0]);
        char *guarded = GUARDED_TEXT(cases[i][0]);
        log_access access = sample();
        access.target = slice_make(guarded, len);
        (void)snprintf(expected, sizeof expected, "13:55:36 200 GET %s 5.1 KB 0.2 ms 127.0.0.1\n",
                       cases[i][1]);
        expect(SKUA_LOG_SHORT, false, &access, expected);
        (void)snprintf(expected, sizeof expected,
                       "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET %s HTTP/1.1\" 200 5120\n",
                       cases[i][1]);
        expect(SKUA_LOG_COMMON, false, &access, expected);
        (void)snprintf(expected, sizeof expected,
                       JSON_ASKED("GET", "%s") ",\"headers\":{}}" JSON_BEHIND "}\n", cases[i][1]);
        expect(SKUA_LOG_JSON, false, &access, expected);
        guarded_free(guarded, len);
    }
}

static void secrets_are_masked(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "/a?token=1", "/a?token=REDACTED" },
        { "/a?TOKEN=1&b=2", "/a?TOKEN=REDACTED&b=2" },
        { "/a?b=2&key=k%20y&key=&c", "/a?b=2&key=REDACTED&key=&c" },
        { "/a?t%6Fken=1", "/a?t%6Fken=REDACTED" },
        { "/token=1?a", "/token=1?a" },
        { "/a?tokens=1&oken=2&key2=3", "/a?tokens=1&oken=2&key2=3" },
        { "/a?token", "/a?token" },
        { "/a?%=1&%6=2&%6g=3", "/a?%25=1&%256=2&%256g=3" },
        { "/a?b=token=1", "/a?b=token=1" },
        { "/a?&&token=1&", "/a?&&token=REDACTED&" },
        { "/a?x=1?token=2", "/a?x=1?token=2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[512];
        size_t len = strlen(cases[i][0]);
        char *guarded = GUARDED_TEXT(cases[i][0]);
        log_access access = sample();
        access.target = access.referer = slice_make(guarded, len);
        (void)snprintf(expected, sizeof expected, "13:55:36 200 GET %s 5.1 KB 0.2 ms 127.0.0.1\n",
                       cases[i][1]);
        expect(SKUA_LOG_SHORT, false, &access, expected);
        if (!strstr(cases[i][1], "REDACTED")) access.referer = (slice){ 0 };
        (void)snprintf(expected, sizeof expected,
                       "127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET %s HTTP/1.1\" 200 5120 "
                       "\"%s\" \"-\"\n",
                       cases[i][1], access.referer.len ? cases[i][1] : "-");
        expect(SKUA_LOG_COMBINED, false, &access, expected);
        guarded_free(guarded, len);
    }
    // a request line that could not be read hides what it can, too
    log_access access = sample();
    access.version = 0;
    access.target = SKUA_SLICE("/?token=1 HTTP/9.9");
    expect(SKUA_LOG_SHORT, false, &access,
           "13:55:36 200 GET /?token=REDACTED\\x20HTTP/9.9 5.1 KB 0.2 ms 127.0.0.1\n");
}

// A value that is longer than what is replaced never writes behind the room.
static void masks_keep_to_their_room(void **state)
{
    (void)state;
    static const char text[] = "/?key=1&key=22&a=3&key=4";
    for (size_t room = 0; room < 64; room++) {
        char *exact = malloc(room ? room : 1);
        slice masked = mask_secrets(slice_of(text), SECRETS, exact, room);
        assert_true(masked.ptr == exact && masked.len <= room);
        free(exact);
    }
}

// ---- Random octets ----

// Reads a JSON string's inside up to its closing quote; NULL when it is not valid.
static const char *skip_json_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) return NULL;
        if (*at != '\\') continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++) {
                at++;
                if (!strchr("0123456789abcdef", *at) || !*at) return NULL;
            }
        } else if (*at != '"' && *at != '\\') {
            return NULL;
        }
    }
    return at + 1;
}

// {"name":"string" or number, …} and nothing else.
static const char *skip_json_members(const char *at);

// A string, a number, an object, or an array of one string.
static const char *skip_json_value(const char *at)
{
    if (*at == '"') return skip_json_string(at);
    if (*at == '{') return skip_json_members(at);
    if (*at == '[') {
        at = skip_json_string(at + 1);
        return at && *at == ']' ? at + 1 : NULL;
    }
    size_t digits = strspn(at, "0123456789.");
    return digits ? at + digits : NULL;
}

static const char *skip_json_members(const char *at)
{
    if (*++at == '}') return at + 1;
    for (;;) {
        if (*at != '"' || !(at = skip_json_string(at)) || *at++ != ':') return NULL;
        if (!(at = skip_json_value(at))) return NULL;
        if (*at == '}') return at + 1;
        if (*at++ != ',') return NULL;
    }
}

static bool is_json_object(const char *at)
{
    at = *at == '{' ? skip_json_members(at) : NULL;
    return at && strcmp(at, "\n") == 0;
}

// Whether a line is UTF-8 without C0, DEL and C1.
static bool is_clean_utf8(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)line[i];
        size_t more = c < 0x80 ? 0 : c < 0xc0 ? SIZE_MAX : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
        if (more == SIZE_MAX || i + more >= len) return false;
        if (c < 0x20 || c == 0x7f) return false;
        if (c == 0xc2 && (unsigned char)line[i + 1] < 0xa0) return false;
        for (; more; more--) {
            if (((unsigned char)line[++i] & 0xc0) != 0x80) return false;
        }
    }
    return true;
}

static void random_octets_never_break_a_line(void **state)
{
    (void)state;
    static char line[LOG_LINE_OCTETS_MAX + 1];
    static const char spice[] = "\"\\\r\n\x1b\xc2\x80\x9b\xe2\x80\xae\xf0\x9f\x98\x80 ";
    uint32_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char parts[4][24];
        for (size_t i = 0; i < sizeof parts; i++) {
            seed = seed * 1664525 + 1013904223;
            uint32_t pick = seed >> 24;
            parts[i / 24][i % 24] =
                pick & 1 ? spice[(pick >> 1) % (sizeof spice - 1)] : (char)(seed >> 16);
        }
        log_access access = sample();
        access.method = slice_make(parts[0], 24);
        access.target = slice_make(parts[1], 24);
        access.referer = slice_make(parts[2], 24);
        access.user_agent = slice_make(parts[3], 24);
        access.tls_version = access.tls_cipher = "T";
        access.server_name = access.id = slice_make(parts[3], 24);
        for (skua_log_format format = SKUA_LOG_SHORT; format <= SKUA_LOG_COMBINED; format++) {
            log_clock clock = { 0 };
            size_t len = log_line_request(&(log_style){ format, false, SECRETS }, &clock, &access,
                                          line, LOG_LINE_OCTETS_MAX);
            line[len] = '\0';
            assert_int_equal(line[len - 1], '\n');
            assert_true(is_clean_utf8(line, len - 1));
            if (format == SKUA_LOG_JSON) assert_true(is_json_object(line));
        }
    }
}

static void long_parts_are_cut_and_marked(void **state)
{
    (void)state;
    static char line[LOG_LINE_OCTETS_MAX + 1], part[65536];
    static const char *const fills[] = { "a",    "\"",           "\x01",
                                         "\xff", "\xe2\x80\xae", "\xf0\x9f\x98\x80" };
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
        size_t n = strlen(fills[i]);
        for (size_t at = 0; at < sizeof part; at++)
            part[at] = fills[i][at % n];
        slice whole = slice_make(part, sizeof part);
        log_access access = sample();
        access.method = access.target = access.referer = access.user_agent = whole;
        access.tls_version = access.tls_cipher = "T";
        access.server_name = access.id = whole;
        for (skua_log_format format = SKUA_LOG_SHORT; format <= SKUA_LOG_COMBINED; format++) {
            log_clock clock = { 0 };
            size_t len = log_line_request(&(log_style){ format, true, SECRETS }, &clock, &access,
                                          line, LOG_LINE_OCTETS_MAX);
            line[len] = '\0';
            assert_non_null(strstr(line, "..."));
            if (format == SKUA_LOG_JSON) assert_true(is_json_object(line));
        }
        size_t len = log_line_message(true, 0, whole, line, LOG_LINE_OCTETS_MAX);
        line[len] = '\0';
        assert_true(is_json_object(line));
    }
}

static void messages(void **state)
{
    (void)state;
    char line[LOG_LINE_OCTETS_MAX + 1];
    slice message = slice_of("say \"hi\"\n\x1b\\");
    line[log_line_message(false, 0, message, line, LOG_LINE_OCTETS_MAX)] = '\0';
    assert_string_equal(line, "skua: say \"hi\"\\x0a\\x1b\\\\\n");
    line[log_line_message(true, 0, message, line, LOG_LINE_OCTETS_MAX)] = '\0';
    assert_string_equal(line, "{\"level\":\"info\",\"ts\":0.000000,\"logger\":\"skua\","
                              "\"msg\":\"say \\\"hi\\\"\\u000a\\u001b\\\\\"}\n");
}

int main(void)
{
    setenv("TZ", "PDT7", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(formats_of_a_request_over_tls),
        cmocka_unit_test(formats_of_a_request_cut_short),
        cmocka_unit_test(formats_of_a_request_that_could_not_be_read),
        cmocka_unit_test(formats_of_a_request_that_was_refused),
        cmocka_unit_test(colours),
        cmocka_unit_test(sizes_and_durations),
        cmocka_unit_test(clock_moves_on),
        cmocka_unit_test(escapes),
        cmocka_unit_test(targets_are_percent_encoded),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(masks_keep_to_their_room),
        cmocka_unit_test(random_octets_never_break_a_line),
        cmocka_unit_test(long_parts_are_cut_and_marked),
        cmocka_unit_test(messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
