// SPDX-License-Identifier: MIT
//
// multipart/form-data: each case at every split; what is told is written as
// "[name|filename|type|fields:content]", an end as "." and a fault as its status.

#include "http/multipart.h"

#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const multipart_limits limits = { .parts_max = 3, .head_octets_max = 100 };

typedef struct telling {
    multipart parser;
    char head[100];
    char text[8192];
    size_t len;
    bool failed;
} telling;

static void say(telling *t, slice text)
{
    assert_true(t->len + text.len < sizeof t->text);
    if (text.len) memcpy(t->text + t->len, text.ptr, text.len);
    t->len += text.len;
    t->text[t->len] = 0;
}

static void say_optional(telling *t, slice text)
{
    say(t, text.ptr ? text : SKUA_SLICE("-"));
    say(t, SKUA_SLICE("|"));
}

static void say_part(telling *t, const skua_part *part)
{
    char count[8];
    say(t, SKUA_SLICE("["));
    say_optional(t, part->name);
    say_optional(t, part->filename);
    say_optional(t, part->type);
    (void)snprintf(count, sizeof count, "%zu:", part->fields_count);
    say(t, slice_of(count));
}

static void say_fault(telling *t)
{
    char status[16];
    (void)snprintf(status, sizeof status, "<%d>", t->parser.fault.status);
    say(t, slice_of(status));
    t->failed = true;
}

static void feed(telling *t, slice input)
{
    slice data;
    while (!t->failed) {
        switch (multipart_next(&t->parser, &input, &data)) {
        case MULTIPART_MORE: assert_int_equal(input.len, 0); return;
        case MULTIPART_BEGIN: say_part(t, &t->parser.part); break;
        case MULTIPART_DATA: say(t, data); break;
        case MULTIPART_END: say(t, SKUA_SLICE("]")); break;
        case MULTIPART_FAULT: say_fault(t); break;
        }
    }
}

// Pieces lie flush against a forbidden page.
static void feed_guarded(telling *t, const char *octets, size_t len)
{
    char *copy = guarded_copy(octets, len);
    feed(t, slice_make(copy, len));
    guarded_free(copy, len);
}

static void begin(telling *t, const char *boundary)
{
    memset(t, 0, sizeof *t);
    multipart_init(&t->parser, &limits, slice_of(boundary), t->head);
}

static void finish(telling *t)
{
    if (t->failed) return;
    if (multipart_finish(&t->parser)) say(t, SKUA_SLICE("."));
    else say_fault(t);
}

typedef struct multipart_case {
    const char *name, *wire, *told;
} multipart_case;

static void check(const multipart_case *c)
{
    static telling t;
    size_t len = strlen(c->wire);
    for (size_t split = 0; split <= len; split++) {
        begin(&t, "bb");
        feed_guarded(&t, c->wire, split);
        feed_guarded(&t, c->wire + split, len - split);
        finish(&t);
        if (strcmp(t.text, c->told) != 0)
            fail_msg("%s, split %zu: %s (%s)", c->name, split, t.text, t.parser.fault.reason);
    }
    begin(&t, "bb");
    for (size_t i = 0; i < len; i++)
        feed_guarded(&t, c->wire + i, 1);
    finish(&t);
    assert_string_equal(t.text, c->told);
}

#define HEAD_A "Content-Disposition: form-data; name=\"a\"\r\n\r\n"
#define PART_A "--bb\r\n" HEAD_A

static void test_multipart_reads_parts(void **state)
{
    (void)state;
    static const multipart_case cases[] = {
        { "one", PART_A "x\r\n--bb--", "[a|-|-|1:x]." },
        { "one, line ended", PART_A "x\r\n--bb--\r\n", "[a|-|-|1:x]." },
        { "two", PART_A "x\r\n" PART_A "y\r\n--bb--\r\n", "[a|-|-|1:x][a|-|-|1:y]." },
        { "none", "--bb--\r\n", "." },
        { "empty content", PART_A "\r\n--bb--", "[a|-|-|1:]." },
        { "no content", PART_A "--bb--", "[a|-|-|1:]." },
        { "no content, then another", PART_A PART_A "y\r\n--bb--", "[a|-|-|1:][a|-|-|1:y]." },
        { "preamble", "This is\r\n--b not\r\n" PART_A "x\r\n--bb--", "[a|-|-|1:x]." },
        { "empty line before", "\r\n" PART_A "x\r\n--bb--", "[a|-|-|1:x]." },
        { "epilogue", PART_A "x\r\n--bb--\r\nanything \r\n--bb\r\n", "[a|-|-|1:x]." },
        { "padding", "--bb \t\r\n" HEAD_A "x\r\n--bb\t\r\n" HEAD_A "y\r\n--bb-- \t",
          "[a|-|-|1:x][a|-|-|1:y]." },
        { "nearly a delimiter", PART_A "\r\n--b\r\n-\r\r\n\r--bb\n--bb\r\n--ab\r\n--bb--",
          "[a|-|-|1:\r\n--b\r\n-\r\r\n\r--bb\n--bb\r\n--ab]." },
        { "begins like one", PART_A "--b\r\n--bb--", "[a|-|-|1:--b]." },
        { "CR before it", PART_A "x\r\r\n--bb--", "[a|-|-|1:x\r]." },
        { "LF before it", PART_A "x\n\r\n--bb--", "[a|-|-|1:x\n]." },
        { "file",
          "--bb\r\ncontent-disposition:Form-Data;NAME=f ; filename=\"a b;\\\"c\\\".txt\"\r\nContent-Type: text/x; y=z\r\n\r\n1\r\n--bb--",
          "[f|a b;\"c\".txt|text/x; y=z|2:1]." },
        { "path of a browser",
          "--bb\r\nContent-Disposition: form-data; name=\"f\"; filename=\"C:\\dir\\a.txt\"\r\n\r\n1\r\n--bb--",
          "[f|C:\\dir\\a.txt|-|1:1]." },
        { "empty names",
          "--bb\r\nContent-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\n1\r\n--bb--",
          "[||-|1:1]." },
        { "other parameters",
          "--bb\r\nContent-Disposition: form-data; x=1; name=a; filename*=utf-8''b;\r\n\r\n1\r\n--bb--",
          "[a|-|-|1:1]." },
        { "harmless encoding",
          "--bb\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: 8BIT\r\n\r\n1\r\n--bb--",
          "[a|-|-|2:1]." },
        { "UTF-8", "--bb\r\nContent-Disposition: form-data; name=\"\xc3\xa9\"\r\n\r\n1\r\n--bb--",
          "[\xc3\xa9|-|-|1:1]." },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

static void test_multipart_refuses(void **state)
{
    (void)state;
    static const multipart_case cases[] = {
        { "nothing", "", "<400>" },
        { "no delimiter", "xyz", "<400>" },
        { "not ended", PART_A "x", "[a|-|-|1:x<400>" },
        { "ended but for a dash", PART_A "x\r\n--bb-", "[a|-|-|1:x]<400>" },
        { "in a head", "--bb\r\nContent-Disposition: form-da", "<400>" },
        { "behind a delimiter", "--bb", "<400>" },
        { "octets behind a boundary", "--bbb\r\n" HEAD_A "x\r\n--bb--", "<400>" },
        { "octets behind one", PART_A "x\r\n--bbx\r\n--bb--", "[a|-|-|1:x]<400>" },
        { "octets behind the last", PART_A "x\r\n--bb--x", "[a|-|-|1:x]<400>" },
        { "dash behind padding", "--bb --\r\n", "<400>" },
        { "bare LF behind a boundary", "--bb\n" HEAD_A "x\r\n--bb--", "<400>" },
        { "bare CR behind a boundary", "--bb\rx", "<400>" },
        { "bare CR behind the last", "--bb--\rx", "<400>" },
        { "bare LF in a head", "--bb\r\nContent-Disposition: form-data; name=a\n\r\nx\r\n--bb--",
          "<400>" },
        { "bare CR in a head",
          "--bb\r\nContent-Disposition: form-data; name=a\rX\r\n\r\nx\r\n--bb--", "<400>" },
        { "no head", "--bb\r\n\r\nx\r\n--bb--", "<400>" },
        { "no disposition", "--bb\r\nContent-Type: text/plain\r\n\r\nx\r\n--bb--", "<400>" },
        { "no name", "--bb\r\nContent-Disposition: form-data; filename=a\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "another disposition",
          "--bb\r\nContent-Disposition: attachment; name=a\r\n\r\nx\r\n--bb--", "<400>" },
        { "disposition twice",
          "--bb\r\nContent-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "name twice", "--bb\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "filename twice",
          "--bb\r\nContent-Disposition: form-data; name=a; filename=x; FileName=y\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "type twice",
          "--bb\r\nContent-Type: a/b\r\nContent-Type: a/b\r\nContent-Disposition: form-data; name=a\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "quote not closed", "--bb\r\nContent-Disposition: form-data; name=\"a\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "quote escaped away",
          "--bb\r\nContent-Disposition: form-data; name=\"a\\\"\r\n\r\nx\r\n--bb--", "<400>" },
        { "octets behind a value",
          "--bb\r\nContent-Disposition: form-data; name=\"a\"b\r\n\r\nx\r\n--bb--", "<400>" },
        { "no value", "--bb\r\nContent-Disposition: form-data; name=\r\n\r\nx\r\n--bb--", "<400>" },
        { "folding", "--bb\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "space before the colon",
          "--bb\r\nContent-Disposition : form-data; name=a\r\n\r\nx\r\n--bb--", "<400>" },
        { "control", "--bb\r\nContent-Disposition: form-data; name=\"a\x01\"\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "base64",
          "--bb\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\nx\r\n--bb--",
          "<400>" },
        { "mixed", "--bb\r\nContent-Disposition: file; filename=a\r\n\r\nx\r\n--bb--", "<400>" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

// n spaces between two texts.
static void check_built(const char *name, const char *told, const char *before, int n,
                        const char *after)
{
    char wire[8192];
    (void)snprintf(wire, sizeof wire, "%s%*s%s", before, n, "", after);
    check(&(multipart_case){ name, wire, told });
}

static void test_multipart_has_limits(void **state)
{
    (void)state;
    check(&(multipart_case){ "three parts", PART_A "\r\n" PART_A "\r\n" PART_A "\r\n--bb--",
                             "[a|-|-|1:][a|-|-|1:][a|-|-|1:]." });
    check(&(multipart_case){ "four parts",
                             PART_A "\r\n" PART_A "\r\n" PART_A "\r\n" PART_A "\r\n--bb--",
                             "[a|-|-|1:][a|-|-|1:][a|-|-|1:]<413>" });
    // "Content-Disposition: form-data; name=a" CRLF is 40 octets, "X:" CRLF 4, the empty line 2.
    check_built("head of 100", "[a|-|-|2:x].",
                "--bb\r\nContent-Disposition: form-data; name=a\r\nX:", 54, "\r\n\r\nx\r\n--bb--");
    check_built("head of 101", "<413>", "--bb\r\nContent-Disposition: form-data; name=a\r\nX:", 55,
                "\r\n\r\nx\r\n--bb--");
    check_built("preamble of 100", "[a|-|-|1:x].", "", 100, "\r\n" PART_A "x\r\n--bb--");
    check_built("preamble of 101", "<413>", "", 101, "\r\n" PART_A "x\r\n--bb--");
    check_built("padding of 100", "[a|-|-|1:x].", "--bb", 100, "\r\n" HEAD_A "x\r\n--bb--");
    check_built("padding of 101", "<413>", "--bb", 101, "\r\n" HEAD_A "x\r\n--bb--");
    check_built("padding of 101 at the end", "[a|-|-|1:x]<413>", PART_A "x\r\n--bb--", 101, "");
}

static void test_multipart_bounds_fields(void **state)
{
    (void)state;
    static char head[8192];
    static telling t;
    const multipart_limits wide = { .parts_max = 3, .head_octets_max = sizeof head };
    for (int extra = MULTIPART_FIELDS_MAX - 1; extra <= MULTIPART_FIELDS_MAX; extra++) {
        memset(&t, 0, sizeof t);
        multipart_init(&t.parser, &wide, SKUA_SLICE("bb"), head);
        feed(&t, SKUA_SLICE("--bb\r\nContent-Disposition: form-data; name=a\r\n"));
        for (int i = 0; i < extra; i++)
            feed(&t, SKUA_SLICE("X: y\r\n"));
        feed(&t, SKUA_SLICE("\r\nx\r\n--bb--"));
        finish(&t);
        assert_string_equal(t.text, extra < MULTIPART_FIELDS_MAX ? "[a|-|-|32:x]." : "<400>");
    }
}

static void test_multipart_boundaries(void **state)
{
    (void)state;
    static const char seventy[] =
        "1234567890123456789012345678901234567890123456789012345678901234567890";
    char long_one[200];
    static const char *const cases[][2] = {
        { "multipart/form-data; boundary=AaB03x", "AaB03x" },
        { "Multipart/Form-Data;charset=utf-8 ; Boundary=\"a b:c?\"", "a b:c?" },
        { "multipart/form-data; boundary=\"(x)+,-./:=?'_\"", "(x)+,-./:=?'_" },
        { "multipart/form-data", NULL },
        { "multipart/form-data; boundary=", NULL },
        { "multipart/form-data; boundary=\"\"", NULL },
        { "multipart/form-data; boundary=\"a \"", NULL },
        { "multipart/form-data; boundary=\"a\\\"b\"", NULL },
        { "multipart/form-data; boundary=a; boundary=b", NULL },
        { "multipart/form-data; boundary=a b", NULL },
        { "multipart/form-data; boundary=a@b", NULL },
        { "multipart/form-data, multipart/form-data; boundary=a", NULL },
        { "multipart/mixed; boundary=a", NULL },
        { "application/x-www-form-urlencoded", NULL },
        { "", NULL },
    };
    char boundary[MULTIPART_BOUNDARY_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t len = 0;
        bool read = multipart_boundary(slice_of(cases[i][0]), boundary, &len);
        if (read != (cases[i][1] != NULL)) fail_msg("%s", cases[i][0]);
        if (read) assert_true(slice_equal(slice_make(boundary, len), slice_of(cases[i][1])));
    }
    size_t len = 0;
    (void)snprintf(long_one, sizeof long_one, "multipart/form-data; boundary=%s", seventy);
    assert_true(multipart_boundary(slice_of(long_one), boundary, &len) && len == 70);
    (void)snprintf(long_one, sizeof long_one, "multipart/form-data; boundary=%s1", seventy);
    assert_false(multipart_boundary(slice_of(long_one), boundary, &len));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multipart_reads_parts),
        cmocka_unit_test(test_multipart_refuses),
        cmocka_unit_test(test_multipart_has_limits),
        cmocka_unit_test(test_multipart_bounds_fields),
        cmocka_unit_test(test_multipart_boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
