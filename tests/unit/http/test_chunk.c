// SPDX-License-Identifier: MIT
//
// The chunk decoder: each wire text as one piece, in two at every split, and octet by octet.

#include "http/chunk.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

enum { OUT_OCTETS = 4096, MORE = 0, END = 1 }; // other outcomes are a fault's status

static const chunk_limits limits = { .ext_octets_max = 20,
                                     .trailer_octets_max = 40,
                                     .trailers_max = 3 };

static block_store store;

typedef struct decoding {
    arena memory;
    chunk_decoder decoder;
    char content[OUT_OCTETS];
    size_t content_len;
    size_t used; // of the input, at the end
    int outcome;
} decoding;

static void decoding_begin(decoding *d, const chunk_limits *under)
{
    d->content_len = d->used = 0;
    d->outcome = MORE;
    arena_init(&d->memory, &store);
    chunk_decoder_init(&d->decoder, under, &d->memory);
}

static void decoding_end(decoding *d)
{
    arena_reset(&d->memory);
}

static void decode(decoding *d, slice wire)
{
    char *guarded = guarded_copy(wire.ptr, wire.len);
    slice input = slice_make(guarded, wire.len), data;
    chunk_event event;
    while ((event = chunk_next(&d->decoder, &input, &data)) == CHUNK_DATA) {
        assert_true(data.len > 0 && data.ptr >= guarded && data.ptr + data.len == input.ptr);
        memcpy(d->content + d->content_len, data.ptr, data.len);
        d->content_len += data.len;
    }
    d->used += wire.len - input.len;
    if (event == CHUNK_MORE) assert_int_equal(input.len, 0);
    d->outcome = event == CHUNK_FAULT ? d->decoder.fault.status : event == CHUNK_END ? END : MORE;
    if (event == CHUNK_FAULT) assert_int_equal(d->decoder.fault.scope, FAULT_CONNECTION);
    guarded_free(guarded, wire.len);
}

typedef struct chunk_case {
    const char *name;
    const char *wire;
    const char *content;
    int outcome;
    size_t left; // octets of wire that are not used
} chunk_case;

#define FIFTEEN_F "fffffffffffffff"
#define SIXTEEN_ZEROS "0000000000000000"

static const chunk_case cases[] = {
    { "one chunk", "5\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "two chunks", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "hello", END, 0 },
    { "no content", "0\r\n\r\n", "", END, 0 },
    { "what follows is left", "1\r\nx\r\n0\r\n\r\nGET /", "x", END, 5 },
    { "hex in both cases", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n",
      "01234567890123456789a", END, 0 },
    { "leading zeros, 16 digits", "0000000000000005\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "17 digits", "00000000000000005\r\nhello\r\n0\r\n\r\n", "", 400, 15 },
    { "last chunk of 16 zeros", SIXTEEN_ZEROS "\r\n\r\n", "", END, 0 },
    { "last chunk of 17 zeros", SIXTEEN_ZEROS "0\r\n\r\n", "", 400, 5 },
    { "15 significant digits", FIFTEEN_F "\r\nx", "x", MORE, 0 },
    { "15 after a zero", "0" FIFTEEN_F "\r\nx", "x", MORE, 0 },
    { "16 significant digits", "f" FIFTEEN_F "\r\n", "", 400, 3 },
    { "16 significant digits, small", "1000000000000000\r\n", "", 400, 3 },
    { "data holds CRLF and zeros", "9\r\n\r\n0\r\n\r\n0\r\r\n0\r\n\r\n", "\r\n0\r\n\r\n0\r", END,
      0 },

    { "no size", "\r\n", "", 400, 2 },
    { "no size before an extension", ";x\r\n", "", 400, 4 },
    { "a sign", "+5\r\nhello\r\n", "", 400, 11 },
    { "a minus", "-1\r\n", "", 400, 4 },
    { "0x", "0x5\r\nhello\r\n", "", 400, 11 },
    { "a space before", " 5\r\nhello\r\n", "", 400, 11 },
    { "a space after", "5 \r\nhello\r\n", "", 400, 9 },
    { "a tab after", "5\t\r\nhello\r\n", "", 400, 9 },
    { "a space inside", "1 0\r\n", "", 400, 3 },
    { "an underscore", "1_0\r\n", "", 400, 4 },
    { "not hex", "g\r\n", "", 400, 3 },
    { "bare LF after the size", "5\nhello\r\n0\r\n\r\n", "", 400, 13 },
    { "bare CR after the size", "5\rhello\r\n0\r\n\r\n", "", 400, 12 },
    { "CR CR LF after the size", "5\r\r\nhello\r\n", "", 400, 9 },
    { "data too long", "4\r\nhello\r\n0\r\n\r\n", "hell", 400, 8 },
    { "data too short", "6\r\nhello\r\n0\r\n\r\n", "hello\r", 400, 6 },
    { "bare LF after data", "5\r\nhello\n0\r\n\r\n", "hello", 400, 6 },
    { "bare CR after data", "5\r\nhello\r0\r\n\r\n", "hello", 400, 5 },
    { "bare LF at the end", "0\r\n\n", "", 400, 1 },
    { "bare CR at the end", "0\r\n\rX", "", 400, 1 },
    { "content in the last chunk", "0\r\nhello\r\n\r\n", "", 400, 4 },

    { "extension", "5;x\r\nhello\r\n0;y\r\n\r\n", "hello", END, 0 },
    { "extension with a value", "5;x=y\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "extensions", "5;a;b=c;d\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "quoted value", "5;x=\"a \\\" b\"\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "quoted, then another", "1;x=\"\";y\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "quoted obs-text", "1;x=\"\xc3\xa9\\\xff\"\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "space before an extension", "5 ;x\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "space after the semicolon", "5; x\r\nhello\r\n0\r\n\r\n", "hello", END, 0 },
    { "space before =", "1;x =y\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "space after =", "1;x= y\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "space wherever it may be", "1 \t; x \t=\t\"y\" ; z \t;w\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "tabs around one", "1\t;\tx\t=\ty\t;z\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "space after a quoted value", "1;x=\"a\" ;y\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "space before the last chunk's extension", "0 ;x\r\n\r\n", "", END, 0 },
    { "space after a name, at the end", "1;x \r\nh\r\n", "", 400, 5 },
    { "space after a value, at the end", "1;x=y \r\nh\r\n", "", 400, 5 },
    { "space after a quoted value, at the end", "1;x=\"y\" \r\nh\r\n", "", 400, 5 },
    { "space instead of a value", "1;x= \r\nh\r\n", "", 400, 5 },
    { "space instead of a name", "1; \r\nh\r\n", "", 400, 5 },
    { "space before a name without a semicolon", "1 x\r\nh\r\n", "", 400, 6 },
    { "two names", "1;x y\r\nh\r\n", "", 400, 6 },
    { "two values", "1;x=y z\r\nh\r\n", "", 400, 6 },
    { "= after a value and space", "1;x=y =z\r\nh\r\n", "", 400, 7 },
    { "LF among space", "1 \n;x\r\nh\r\n", "", 400, 8 },
    { "20 octets, space among them", "1        ;        xxx\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "21 octets, space among them", "1        ;        xxxx\r\nh\r\n", "", 400, 6 },
    { "21 octets of space", "1                     ;x\r\nh\r\n", "", 400, 8 },
    { "empty extension", "5;\r\nhello\r\n", "", 400, 9 },
    { "empty extension between", "5;;x\r\nhello\r\n", "", 400, 11 },
    { "empty name", "5;=x\r\nhello\r\n", "", 400, 11 },
    { "empty value", "5;x=\r\nhello\r\n", "", 400, 9 },
    { "empty value between", "5;x=;y\r\n", "", 400, 4 },
    { "second =", "5;x=y=z\r\n", "", 400, 4 },
    { "token after quoted", "5;x=\"a\"b\r\n", "", 400, 3 },
    { "bare LF in an extension", "5;x\nhello\r\n", "", 400, 8 },
    { "CR in a quoted value", "5;x=\"\r\n\"\r\n", "", 400, 5 },
    { "CR escaped in a quoted value", "5;x=\"\\\r\n\"\r\n", "", 400, 5 },
    { "NUL-like control in a value", "5;x=\"\x01\"\r\n", "", 400, 4 },
    { "DEL in a value", "5;x=\"\x7f\"\r\n", "", 400, 4 },
    { "20 octets of extension", "1;xxxxxxxxxxxxxxxxxxx\r\nh\r\n0\r\n\r\n", "h", END, 0 },
    { "21 octets of extension", "1;xxxxxxxxxxxxxxxxxxxx\r\nh\r\n", "", 400, 6 },
    { "20 in two chunks", "1;xxxxxxxxx\r\nh\r\n0;xxxxxxxxx\r\n\r\n", "h", END, 0 },
    { "21 in two chunks", "1;xxxxxxxxx\r\nh\r\n0;xxxxxxxxxx\r\n\r\n", "h", 400, 5 },

    { "trailer", "0\r\nx: y\r\n\r\n", "", END, 0 },
    { "trailers", "0\r\na:1\r\nb: 2 \r\nc:\r\n\r\nGET", "", END, 3 },
    { "too many trailers", "0\r\na:1\r\nb:2\r\nc:3\r\nd:4\r\n\r\n", "", 431, 7 },
    { "40 octets of trailers", "0\r\nx:345678901234567890123456789012345678\r\n\r\n", "", END, 0 },
    { "41 octets of trailers", "0\r\nx:3456789012345678901234567890123456789\r\n\r\n", "", 431, 3 },
    { "obs-fold", "0\r\nx: y\r\n z\r\n\r\n", "", 400, 6 },
    { "space before the colon", "0\r\nx : y\r\n\r\n", "", 400, 8 },
    { "empty name", "0\r\n: y\r\n\r\n", "", 400, 7 },
    { "no colon", "0\r\nx\r\n\r\n", "", 400, 4 },
    { "bare LF", "0\r\nx: y\n\r\n", "", 400, 3 },
    { "bare CR", "0\r\nx: y\rz\r\n", "", 400, 3 },
    { "control in a value", "0\r\nx: \x01\r\n\r\n", "", 400, 5 },
    { "a framing trailer", "0\r\nContent-Length: 5\r\n\r\n", "", 400, 7 },
    { "a framing trailer, other case", "0\r\ntRANSFER-eNCODING: chunked\r\n\r\n", "", 400, 13 },
    { "a routing trailer", "0\r\nHost: x\r\n\r\n", "", 400, 7 },
    { "an authentication trailer", "0\r\nAuthorization: x\r\n\r\n", "", 400, 7 },
    { "a trailer that is left out", "0\r\nContent-Type: a\r\n\r\nGET", "", END, 3 },
};

static void check(const chunk_case *c, decoding *d)
{
    bool same = d->outcome == c->outcome && d->content_len == strlen(c->content) &&
                memcmp(d->content, c->content, d->content_len) == 0 &&
                d->used == strlen(c->wire) - c->left;
    if (!same) {
        print_error("%s: outcome %d, content \"%.*s\", left %zu, \"%s\"\n", c->name, d->outcome,
                    (int)d->content_len, d->content, strlen(c->wire) - d->used,
                    d->decoder.fault.reason);
    }
    assert_true(same);
}

static void decode_rest(decoding *d, slice wire)
{
    if (d->outcome == MORE) decode(d, wire);
}

static void test_chunk_in_two_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        slice wire = slice_of(cases[i].wire);
        for (size_t split = 0; split <= wire.len; split++) {
            decoding d;
            decoding_begin(&d, &limits);
            decode(&d, slice_make(wire.ptr, split));
            decode_rest(&d, slice_from(wire, split));
            check(&cases[i], &d);
            decoding_end(&d);
        }
    }
}

static void test_chunk_octet_by_octet(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        slice wire = slice_of(cases[i].wire);
        decoding d;
        decoding_begin(&d, &limits);
        for (size_t at = 0; at < wire.len; at++)
            decode_rest(&d, slice_make(wire.ptr + at, 1));
        check(&cases[i], &d);
        decoding_end(&d);
    }
}

static void test_chunk_nul_is_refused_everywhere(void **state)
{
    (void)state;
    static const char wire[] = "1;a=b;c=\"d\"\r\nx\r\n0\r\nt: v\r\n\r\n";
    for (size_t at = 0; at < sizeof wire - 1; at++) {
        if (at == 13) continue; // the content may be NUL
        char broken[sizeof wire];
        memcpy(broken, wire, sizeof wire);
        broken[at] = '\0';
        decoding d;
        decoding_begin(&d, &limits);
        decode(&d, slice_make(broken, sizeof wire - 1));
        assert_int_equal(d.outcome, 400);
        assert_int_equal(d.used, at);
        decoding_end(&d);
    }
}

static void test_chunk_end_and_fault_are_lasting(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        int outcome;
    } lasting[] = { { "0\r\n\r\n", END }, { "x", 400 } };
    for (size_t i = 0; i < 2; i++) {
        decoding d;
        decoding_begin(&d, &limits);
        decode(&d, slice_of(lasting[i].wire));
        size_t used = d.used;
        decode(&d, slice_of(""));
        assert_int_equal(d.outcome, lasting[i].outcome);
        decode(&d, slice_of("5\r\n"));
        assert_int_equal(d.outcome, lasting[i].outcome);
        assert_int_equal(d.used, used);
        decoding_end(&d);
    }
}

static void expect_trailer(const decoding *d, unsigned i, const char *name, const char *value)
{
    assert_true(slice_equal(d->decoder.trailers[i].name, slice_of(name)));
    assert_true(slice_equal(d->decoder.trailers[i].value, slice_of(value)));
}

static void test_chunk_trailers_are_kept(void **state)
{
    (void)state;
    slice wire = slice_of("0\r\nSum: \t a, b \t \r\nempty:\r\nblank: \t\r\n\r\n");
    for (size_t split = 0; split <= wire.len; split++) {
        decoding d;
        decoding_begin(&d, &limits);
        decode(&d, slice_make(wire.ptr, split));
        decode_rest(&d, slice_from(wire, split));
        assert_int_equal(d.outcome, END);
        assert_int_equal(d.decoder.trailer_count, 3);
        expect_trailer(&d, 0, "Sum", "a, b");
        expect_trailer(&d, 1, "empty", "");
        expect_trailer(&d, 2, "blank", "");
        decoding_end(&d);
    }
}

// A field that may not be a trailer is as if it were not there, wherever it stands and however it
// is cut.
static void test_chunk_trailers_are_left_out(void **state)
{
    (void)state;
    slice wire = slice_of("0\r\nTE:x\r\na: 1\r\nVary: *\r\nb: 2\r\nage:\r\n\r\n");
    for (size_t split = 0; split <= wire.len; split++) {
        decoding d;
        decoding_begin(&d, &limits);
        decode(&d, slice_make(wire.ptr, split));
        decode_rest(&d, slice_from(wire, split));
        assert_int_equal(d.outcome, END);
        assert_int_equal(d.decoder.trailer_count, 2);
        expect_trailer(&d, 0, "a", "1");
        expect_trailer(&d, 1, "b", "2");
        decoding_end(&d);
    }
}

static void test_chunk_takes_no_memory_without_trailers(void **state)
{
    (void)state;
    decoding d;
    decoding_begin(&d, &limits);
    decode(&d, slice_of("5;x=y\r\nhello\r\n0\r\n\r\n"));
    assert_int_equal(d.outcome, END);
    assert_int_equal(d.decoder.trailer_count, 0);
    assert_int_equal(store.out_count, 0);
    decoding_end(&d);
}

static void test_chunk_memory_running_out_is_503(void **state)
{
    (void)state;
    chunk_limits endless = { .ext_octets_max = 1,
                             .trailer_octets_max = SIZE_MAX,
                             .trailers_max = 1 };
    decoding d;
    decoding_begin(&d, &endless);
    decode(&d, slice_of("0\r\nx: y\r\n\r\n"));
    assert_int_equal(d.outcome, 503);
    decoding_end(&d);
}

static void test_chunk_limits_of_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        int outcome;
    } edges[] = { { "0\r\n\r\n", END }, { "0;x\r\n\r\n", 400 }, { "0\r\nx:\r\n\r\n", 431 } };
    chunk_limits none = { 0 };
    for (size_t i = 0; i < 3; i++) {
        decoding d;
        decoding_begin(&d, &none);
        decode(&d, slice_of(edges[i].wire));
        assert_int_equal(d.outcome, edges[i].outcome);
        decoding_end(&d);
    }
}

static void test_chunk_data_is_handed_on_whole(void **state)
{
    (void)state;
    static char wire[1 << 16];
    size_t head = chunk_write_size(wire, sizeof wire);
    decoding d;
    decoding_begin(&d, &limits);
    slice input = slice_make(wire, sizeof wire), data;
    assert_int_equal(chunk_next(&d.decoder, &input, &data), CHUNK_DATA);
    assert_ptr_equal(data.ptr, wire + head);
    assert_int_equal(data.len, sizeof wire - head);
    assert_int_equal(chunk_next(&d.decoder, &input, &data), CHUNK_MORE);
    decoding_end(&d);
}

static void test_chunk_trailer_allowed(void **state)
{
    (void)state;
    static const char *const refused[] = { "te",
                                           "Host",
                                           "HOST",
                                           "content-length",
                                           "Set-Cookie",
                                           "If-Unmodified-Since",
                                           "Proxy-Authorization",
                                           "Trailer" };
    static const char *const allowed[] = { "x",     "ETag", "Server-Timing",       "Content-Digest",
                                           "hosts", "hos",  "Authentication-Info", "" };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_false(chunk_trailer_allowed(slice_of(refused[i])));
    }
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        assert_true(chunk_trailer_allowed(slice_of(allowed[i])));
    }
}

static void test_chunk_write_size(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {
        0, 1, 9, 10, 15, 16, 255, 256, 16384, UINT32_MAX, UINT64_MAX
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char expected[32], out[32];
        int len = snprintf(expected, sizeof expected, "%llx\r\n", (unsigned long long)sizes[i]);
        assert_int_equal(chunk_write_size(out, sizes[i]), len);
        assert_memory_equal(out, expected, (size_t)len);
    }
}

static int teardown(void **state)
{
    (void)state;
    block_store_deinit(&store); // asserts that every block is back
    return 0;
}

static int setup(void **state)
{
    (void)state;
    block_store_init(&store, 2);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_in_two_at_every_split),
        cmocka_unit_test(test_chunk_octet_by_octet),
        cmocka_unit_test(test_chunk_nul_is_refused_everywhere),
        cmocka_unit_test(test_chunk_end_and_fault_are_lasting),
        cmocka_unit_test(test_chunk_trailers_are_kept),
        cmocka_unit_test(test_chunk_trailers_are_left_out),
        cmocka_unit_test(test_chunk_takes_no_memory_without_trailers),
        cmocka_unit_test(test_chunk_memory_running_out_is_503),
        cmocka_unit_test(test_chunk_limits_of_nothing),
        cmocka_unit_test(test_chunk_data_is_handed_on_whole),
        cmocka_unit_test(test_chunk_trailer_allowed),
        cmocka_unit_test(test_chunk_write_size),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
