// SPDX-License-Identifier: MIT
//
// The head of a request: the conformance tables at every split, limits at their edges, names, and
// that no octet is looked at twice. Input ends at a forbidden page.

#include "http/h1_head.h"

#include "conformance/rfc9110.h"
#include "conformance/rfc9112.h"
#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <time.h>

enum { FIELDS = 100 };

static const head_limits usual = { .head_octets_max = 16384,
                                   .target_octets_max = 8192,
                                   .method_octets_max = 17,
                                   .fields_max = FIELDS };

static head_field fields[FIELDS];

// ---- The conformance tables ----

typedef void case_fn(const head_case *one);

static void each_case(case_fn *check)
{
    for (size_t i = 0; i < RFC9110_CASES; i++)
        check(&rfc9110_cases[i]);
    for (size_t i = 0; i < RFC9112_CASES; i++)
        check(&rfc9112_cases[i]);
}

static bool has_outcome(h1_result result, const request_head *head, int outcome)
{
    if (result == H1_MORE) return outcome == CASE_MORE;
    if (result == H1_DONE) return outcome == CASE_DONE && head->fault.status == 0;
    return outcome == head->fault.status && head->fault.reason[0] &&
           head->fault.scope == FAULT_CONNECTION;
}

static void check_outcome(const head_case *one, h1_result result, const request_head *head,
                          const char *how)
{
    if (has_outcome(result, head, one->outcome)) return;
    fail_msg("%s (§%s), %s: result %d, status %d %s; want %d", one->name, one->section, how,
             (int)result, head->fault.status, head->fault.reason, one->outcome);
}

static void check_text(const head_case *one, const char *what, slice is, const char *want)
{
    if (!want || slice_equal(is, slice_of(want))) return;
    fail_msg("%s: %s is \"%.*s\", want \"%s\"", one->name, what, (int)is.len, is.ptr, want);
}

static void check_number(const head_case *one, const char *what, uint64_t is, uint64_t want)
{
    if (is == want) return;
    fail_msg("%s: %s is %llu, want %llu", one->name, what, (unsigned long long)is,
             (unsigned long long)want);
}

static void check_field(const head_case *one, const request_head *head, const char *base)
{
    if (!one->want.field) return;
    if (head->count == 0) fail_msg("%s: no fields", one->name);
    slice want = slice_of(one->want.field);
    slice name = head_name(head, base, head->count - 1u);
    size_t cut = name.len < want.len && want.ptr[name.len] == '|' ? name.len : 0;
    slice value = head_value(head, base, head->count - 1u);
    if (!slice_equal(name, slice_make(want.ptr, cut)) ||
        !slice_equal(value, slice_from(want, cut + 1))) {
        fail_msg("%s: last field is \"%.*s|%.*s\"", one->name, (int)name.len, name.ptr,
                 (int)value.len, value.ptr);
    }
}

static void check_done(const head_case *one, const request_head *head, const char *base)
{
    static const int content[] = { [WANT_NO_CONTENT] = HEAD_CONTENT_NONE,
                                   [WANT_LENGTH] = HEAD_CONTENT_LENGTH,
                                   [WANT_CHUNKED] = HEAD_CONTENT_STREAMED };
    const head_want *want = &one->want;
    check_number(one, "octets", head->octets, one->raw.len);
    check_number(one, "content", head->content, (uint64_t)content[want->content]);
    if (want->content == WANT_LENGTH)
        check_number(one, "length", head->content_length, want->length);
    if (want->version) check_number(one, "version", head->version, (uint64_t)want->version);
    if (want->persistence)
        check_number(one, "keep_alive", head->keep_alive, want->persistence == WANT_KEEP);
    if (want->expectation) {
        check_number(one, "expect", head->expect_continue, want->expectation == WANT_CONTINUE);
    }
    check_field(one, head, base);
}

// The whole and what follows it, in one read.
static void check_whole(const head_case *one)
{
    static const char after[] = "\r\n\0junk after the octet that made the outcome";
    char text[2048];
    bool more = one->outcome == CASE_MORE;
    size_t len = one->raw.len + (more ? 0 : sizeof(after));
    assert_true(len <= sizeof(text));
    if (one->raw.len) memcpy(text, one->raw.ptr, one->raw.len);
    if (!more) memcpy(text + one->raw.len, after, sizeof(after));
    char *octets = guarded_copy(text, len);
    request_head head;
    head_init(&head, &usual, fields);
    h1_result result = h1_head_read(&head, slice_make(octets, len));
    check_outcome(one, result, &head, "whole");
    check_text(one, "method", head_method(&head, octets), one->want.method);
    check_text(one, "target", head_target(&head, octets), one->want.target);
    if (result == H1_DONE) check_done(one, &head, octets);
    guarded_free(octets, len);
}

// In two pieces. No piece that lacks an octet may have the outcome: faults are found by the octet
// that makes them, neither earlier nor later.
static void check_split(const head_case *one, size_t split)
{
    request_head head;
    head_init(&head, &usual, fields);
    char *part = guarded_copy(one->raw.ptr, split);
    h1_result result = h1_head_read(&head, slice_make(part, split));
    guarded_free(part, split);
    if (result != H1_MORE) fail_msg("%s: outcome after %zu of %zu", one->name, split, one->raw.len);
    char *whole = guarded_copy(one->raw.ptr, one->raw.len);
    result = h1_head_read(&head, slice_make(whole, one->raw.len));
    check_outcome(one, result, &head, "in two pieces");
    if (result == H1_DONE) check_done(one, &head, whole);
    guarded_free(whole, one->raw.len);
}

static void check_splits(const head_case *one)
{
    for (size_t split = 0; split < one->raw.len; split++)
        check_split(one, split);
}

// One octet more in each read.
static void check_octets(const head_case *one)
{
    request_head head;
    head_init(&head, &usual, fields);
    h1_result result = H1_MORE;
    char *octets = guarded_copy(one->raw.ptr, one->raw.len);
    for (size_t n = 0; n <= one->raw.len && result == H1_MORE; n++) {
        result = h1_head_read(&head, slice_make(octets, n));
    }
    check_outcome(one, result, &head, "octet by octet");
    if (result == H1_DONE) check_done(one, &head, octets);
    guarded_free(octets, one->raw.len);
}

static void test_h1_head_cases_whole(void **state)
{
    (void)state;
    each_case(check_whole);
}

static void test_h1_head_cases_at_every_split(void **state)
{
    (void)state;
    each_case(check_splits);
}

static void test_h1_head_cases_octet_by_octet(void **state)
{
    (void)state;
    each_case(check_octets);
}

// ---- Limits ----

// Reads text whole and then octet by octet; both must come to the same status (0: complete).
static void expect_status(const head_limits *limits, slice text, int status)
{
    char *octets = guarded_copy(text.ptr, text.len);
    for (int wise = 0; wise < 2; wise++) {
        request_head head;
        head_init(&head, limits, fields);
        h1_result result = H1_MORE;
        for (size_t n = wise ? 0 : text.len; n <= text.len && result == H1_MORE; n++) {
            result = h1_head_read(&head, slice_make(octets, n));
        }
        assert_int_equal(result, status ? H1_FAULT : H1_DONE);
        assert_int_equal(head.fault.status, status);
    }
    guarded_free(octets, text.len);
}

static void test_h1_head_octets_at_the_limit(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    slice after_empty_line = SKUA_SLICE("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    head_limits limits = usual;
    limits.head_octets_max = (uint32_t)text.len;
    expect_status(&limits, text, 0);
    expect_status(&limits, after_empty_line, 0);
    limits.head_octets_max--;
    expect_status(&limits, text, 431);
    expect_status(&limits, after_empty_line, 431);
}

// A head that fills its limit is refused by its last octet, not by one more: a caller with room for
// no more than the limit would wait for it forever.
static void test_h1_head_full_is_refused_at_once(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nA: b");
    head_limits limits = usual;
    limits.head_octets_max = (uint32_t)text.len;
    expect_status(&limits, text, 431);
    limits.head_octets_max = 7; // within the target's end
    expect_status(&limits, text, 431);
    limits.head_octets_max = 5; // within the target
    expect_status(&limits, text, 414);
    limits.head_octets_max = 2; // within the method
    expect_status(&limits, text, 431);
}

static void test_h1_head_fault_before_the_limit_wins(void **state)
{
    (void)state;
    head_limits limits = usual;
    limits.head_octets_max = 20;
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.1\r\nA b"), 400);
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.1\r\nA: bcdef\x01"), 431);
}

static void test_h1_head_largest_limit_with_empty_lines(void **state)
{
    (void)state;
    enum { LARGEST = 65535 };
    static const char start[] = "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nA: ";
    static char text[LARGEST + 8];
    head_limits limits = usual;
    limits.head_octets_max = LARGEST;
    memset(text, 'b', sizeof(text));
    memcpy(text, start, sizeof(start) - 1);
    expect_status(&limits, slice_make(text, sizeof(text)), 431);
    memcpy(text + LARGEST - 4, "\r\n\r\n", 4);
    expect_status(&limits, slice_make(text, LARGEST), 0);
}

static void test_h1_head_target_at_the_limit(void **state)
{
    (void)state;
    head_limits limits = usual;
    limits.target_octets_max = 20;
    expect_status(&limits, SKUA_SLICE("GET /2345678901234567890 HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    expect_status(&limits, SKUA_SLICE("GET /23456789012345678901 HTTP/1.1\r\nHost: a\r\n\r\n"),
                  414);
    expect_status(&limits, SKUA_SLICE("GET /23456789012345678901"), 414);
    expect_status(&limits, SKUA_SLICE("GET /2345678901234567890#"), 400);
    expect_status(&limits, SKUA_SLICE("GET /23456789012345678901#"), 414);
}

static void test_h1_head_method_at_the_limit(void **state)
{
    (void)state;
    head_limits limits = usual;
    limits.method_octets_max = 4;
    expect_status(&limits, SKUA_SLICE("MAKE / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
    expect_status(&limits, SKUA_SLICE("MAKES / HTTP/1.1\r\nHost: a\r\n\r\n"), 501);
    expect_status(&limits, SKUA_SLICE("MAKES"), 501);
    expect_status(&limits, SKUA_SLICE("MAKES\x01"), 501);
    expect_status(&limits, SKUA_SLICE("MAKE\x01"), 400);
    static char text[20000];
    memset(text, 'A', sizeof text);
    expect_status(&usual, slice_make(text, sizeof text), 501);
}

static void test_h1_head_fields_at_the_limit(void **state)
{
    (void)state;
    head_limits limits = usual;
    limits.fields_max = 3;
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD: e\r\n\r\n"), 0);
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD: e\r\nF: g\r\n\r\n"),
                  431);
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\nB: c\r\nD: e\r\nF"), 431);
    limits.fields_max = 0;
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.0\r\n\r\n"), 0);
    expect_status(&limits, SKUA_SLICE("GET / HTTP/1.0\r\nA"), 431);
}

// ---- What a head holds ----

static void test_h1_head_parts(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("\r\nPUT /a?b HTTP/1.1\r\nAccept: x\r\nHOST: a.b:1\r\nX-Y:z \r\n"
                            "Cookie: c=d\r\nCookie: e=f\r\n\r\ncontent");
    request_head head;
    head_init(&head, &usual, fields);
    assert_int_equal(h1_head_read(&head, text), H1_DONE);
    assert_int_equal(head.start, 2);
    assert_int_equal(head.octets, text.len - strlen("content"));
    assert_int_equal(head.count, 5);
    assert_int_equal(head.host, 2);
    assert_true(slice_equal(head_method(&head, text.ptr), SKUA_SLICE("PUT")));
    assert_true(slice_equal(head_target(&head, text.ptr), SKUA_SLICE("/a?b")));
    assert_true(slice_equal(head_name(&head, text.ptr, 1), SKUA_SLICE("HOST")));
    assert_true(slice_equal(head_value(&head, text.ptr, 1), SKUA_SLICE("a.b:1")));
    assert_true(slice_equal(head_value(&head, text.ptr, 2), SKUA_SLICE("z")));
    assert_int_equal(head.fields[2].id, FIELD_OTHER);
    assert_int_equal(head.fields[3].id, FIELD_COOKIE);
    assert_int_equal(head.seen, 1u << FIELD_ACCEPT | 1u << FIELD_HOST | 1u << FIELD_COOKIE);
}

// The piece may have moved between reads.
static void test_h1_head_input_moves(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("GET /abc HTTP/1.1\r\nHost: example.com\r\nAccept: text/html\r\n\r\n");
    request_head head;
    head_init(&head, &usual, fields);
    for (size_t n = 1; n < text.len; n++) {
        char *octets = guarded_copy(text.ptr, n);
        assert_int_equal(h1_head_read(&head, slice_make(octets, n)), H1_MORE);
        guarded_free(octets, n);
    }
    assert_int_equal(h1_head_read(&head, text), H1_DONE);
    assert_true(slice_equal(head_target(&head, text.ptr), SKUA_SLICE("/abc")));
    assert_true(slice_equal(head_value(&head, text.ptr, 1), SKUA_SLICE("text/html")));
}

// The request line is kept in spite of a fault, for the log and for HEAD.
static void test_h1_head_fault_keeps_the_request_line(void **state)
{
    (void)state;
    slice text = SKUA_SLICE("HEAD /a HTTP/1.1\r\nHost: a b\r\n\r\n");
    request_head head;
    head_init(&head, &usual, fields);
    assert_int_equal(h1_head_read(&head, text), H1_FAULT);
    assert_true(slice_equal(head_method(&head, text.ptr), SKUA_SLICE("HEAD")));
    assert_true(slice_equal(head_target(&head, text.ptr), SKUA_SLICE("/a")));
    head_init(&head, &usual, fields);
    assert_int_equal(h1_head_read(&head, SKUA_SLICE("HEAD /a#")), H1_FAULT);
    assert_int_equal(head.method_len, 4);
    assert_int_equal(head.target_len, 0);
}

// ---- Names ----

typedef struct known_name {
    const char *name;
    field_id id;
} known_name;

static const known_name known[] = {
    { "Host", FIELD_HOST },
    { "Connection", FIELD_CONNECTION },
    { "Content-Length", FIELD_CONTENT_LENGTH },
    { "Transfer-Encoding", FIELD_TRANSFER_ENCODING },
    { "Expect", FIELD_EXPECT },
    { "Upgrade", FIELD_UPGRADE },
    { "TE", FIELD_TE },
    { "Trailer", FIELD_TRAILER },
    { "Cookie", FIELD_COOKIE },
    { "Accept", FIELD_ACCEPT },
    { "Accept-Encoding", FIELD_ACCEPT_ENCODING },
    { "Range", FIELD_RANGE },
    { "If-Range", FIELD_IF_RANGE },
    { "If-Match", FIELD_IF_MATCH },
    { "If-None-Match", FIELD_IF_NONE_MATCH },
    { "If-Modified-Since", FIELD_IF_MODIFIED_SINCE },
    { "If-Unmodified-Since", FIELD_IF_UNMODIFIED_SINCE },
    { "Content-Type", FIELD_CONTENT_TYPE },
    { "Authorization", FIELD_AUTHORIZATION },
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static field_id identify_slowly(slice name)
{
    for (size_t i = 0; i < KNOWN; i++) {
        if (slice_equal_nocase(name, slice_of(known[i].name))) return known[i].id;
    }
    return FIELD_OTHER;
}

// Every name with every octet in every place: the quick comparison takes nothing for a name that
// isn't it.
static void check_variants(slice name)
{
    char *text = guarded_copy(name.ptr, name.len);
    for (size_t at = 0; at < name.len; at++) {
        for (int octet = 0; octet < 256; octet++) {
            text[at] = (char)octet;
            slice variant = slice_make(text, name.len);
            assert_int_equal(field_identify(variant), identify_slowly(variant));
        }
        text[at] = name.ptr[at];
    }
    for (size_t len = 0; len <= name.len; len++) {
        slice part = slice_from(slice_make(text, name.len), name.len - len);
        assert_int_equal(field_identify(part), identify_slowly(part));
    }
    guarded_free(text, name.len);
}

static void test_h1_head_names(void **state)
{
    (void)state;
    assert_int_equal(KNOWN, FIELD_COUNT - 1);
    for (size_t i = 0; i < KNOWN; i++) {
        assert_int_equal(field_identify(slice_of(known[i].name)), known[i].id);
        check_variants(slice_of(known[i].name));
    }
    assert_int_equal(field_identify(slice_make(NULL, 0)), FIELD_OTHER);
}

// ---- Work ----

static double seconds_for_octets(const head_limits *limits, slice text)
{
    clock_t start = clock();
    for (int round = 0; round < 10; round++) {
        request_head head;
        head_init(&head, limits, fields);
        for (size_t n = 1; n <= text.len; n++) {
            assert_int_equal(h1_head_read(&head, slice_make(text.ptr, n)), H1_MORE);
        }
    }
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

// A peer that sends one octet at a time costs as much for each of them, however long the line
// already is: 32 times as many octets may take 32 times as long, and a quadratic reader would need
// 1,024 times.
static void test_h1_head_slow_peer_costs_linear_work(void **state)
{
    (void)state;
    enum { LONG = 64000, SHORT = LONG / 32 };
    static const char *const starts[] = {
        "",      "GET /", "GET / HTTP/1.1\r\nA", "GET / HTTP/1.1\r\nA: b", "GET / HTTP/1.1\r\nA:",
        "GET /?"
    };
    static const char fills[] = { 'b', 'b', 'b', 'b', ' ', '\xc3' };
    static char text[LONG];
    const head_limits limits = { .head_octets_max = 65535,
                                 .target_octets_max = 65535,
                                 .method_octets_max = 65535,
                                 .fields_max = FIELDS };
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        memset(text, fills[i], LONG);
        memcpy(text, starts[i], strlen(starts[i]));
        double few = seconds_for_octets(&limits, slice_make(text, SHORT));
        double many = seconds_for_octets(&limits, slice_make(text, LONG));
        assert_true(many < few * 32 * 8 + 0.05);
    }
}

// ---- Seeds ----

static const char *seeds_folder;

static void write_seed(const head_case *one)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", seeds_folder, one->name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(one->raw.ptr, 1, one->raw.len, file) != one->raw.len || fclose(file) != 0) {
        perror(path);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_h1_head_cases_whole),
        cmocka_unit_test(test_h1_head_cases_at_every_split),
        cmocka_unit_test(test_h1_head_cases_octet_by_octet),
        cmocka_unit_test(test_h1_head_octets_at_the_limit),
        cmocka_unit_test(test_h1_head_full_is_refused_at_once),
        cmocka_unit_test(test_h1_head_fault_before_the_limit_wins),
        cmocka_unit_test(test_h1_head_largest_limit_with_empty_lines),
        cmocka_unit_test(test_h1_head_target_at_the_limit),
        cmocka_unit_test(test_h1_head_method_at_the_limit),
        cmocka_unit_test(test_h1_head_fields_at_the_limit),
        cmocka_unit_test(test_h1_head_parts),
        cmocka_unit_test(test_h1_head_input_moves),
        cmocka_unit_test(test_h1_head_fault_keeps_the_request_line),
        cmocka_unit_test(test_h1_head_names),
        cmocka_unit_test(test_h1_head_slow_peer_costs_linear_work),
    };
    if (argc == 3 && strcmp(argv[1], "--write-seeds") == 0) {
        seeds_folder = argv[2];
        each_case(write_seed);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
