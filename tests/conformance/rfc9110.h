// SPDX-License-Identifier: MIT
//
// RFC 9110, section by section: what fields of a request's head may hold.
#ifndef TESTS_CONFORMANCE_RFC9110_H
#define TESTS_CONFORMANCE_RFC9110_H

#include "conformance/head_case.h"

#define HEAD_11 "GET / HTTP/1.1\r\nHost: a\r\n"
#define POST_11 "POST / HTTP/1.1\r\nHost: a\r\n"
#define POST_10 "POST / HTTP/1.0\r\n"

static const head_case rfc9110_cases[] = {
    // §5.1: names
    { "name-all-characters", "5.1", RAW(HEAD_11 "!#$%&'*+-.^_`|~09azAZ: b\r\n\r\n"), CASE_DONE,
      { .field = "!#$%&'*+-.^_`|~09azAZ|b" } },
    { "name-rare-late", "5.1", RAW(HEAD_11 "abcdefghijklmnop_qrstuvwxyzabcdefghij~klm: b\r\n\r\n"), CASE_DONE,
      { .field = "abcdefghijklmnop_qrstuvwxyzabcdefghij~klm|b" } },
    { "name-quote", "5.1", RAW(HEAD_11 "A\""), 400, { 0 } },
    { "name-paren", "5.1", RAW(HEAD_11 "A("), 400, { 0 } },
    { "name-comma", "5.1", RAW(HEAD_11 "A,"), 400, { 0 } },
    { "name-slash", "5.1", RAW(HEAD_11 "A/"), 400, { 0 } },
    { "name-semicolon", "5.1", RAW(HEAD_11 "A;"), 400, { 0 } },
    { "name-equals", "5.1", RAW(HEAD_11 "="), 400, { 0 } },
    { "name-at", "5.1", RAW(HEAD_11 "@"), 400, { 0 } },
    { "name-bracket", "5.1", RAW(HEAD_11 "A["), 400, { 0 } },
    { "name-backslash", "5.1", RAW(HEAD_11 "A\\"), 400, { 0 } },
    { "name-brace", "5.1", RAW(HEAD_11 "A{"), 400, { 0 } },
    { "name-nul", "5.1", RAW(HEAD_11 "A\0"), 400, { 0 } },
    { "name-delete", "5.1", RAW(HEAD_11 "A\x7f"), 400, { 0 } },
    { "name-high-octet", "5.1", RAW(HEAD_11 "A\x80"), 400, { 0 } },

    // §5.5: values
    { "value-obs-text", "5.5", RAW(HEAD_11 "A: \x80\xc3\xbc\xff\r\n\r\n"), CASE_DONE,
      { .field = "A|\x80\xc3\xbc\xff" } },
    { "value-all-visible", "5.5",
      RAW(HEAD_11 "A: !\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~\r\n\r\n"), CASE_DONE,
      { .field = "A|!\"#$%&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~" } },
    { "value-nul", "5.5", RAW(HEAD_11 "A: b\0"), 400, { 0 } },
    { "value-nul-first", "5.5", RAW(HEAD_11 "A: \0"), 400, { 0 } },
    { "value-bell", "5.5", RAW(HEAD_11 "A: b\x07"), 400, { 0 } },
    { "value-vertical-tab", "5.5", RAW(HEAD_11 "A: b\x0b"), 400, { 0 } },
    { "value-form-feed", "5.5", RAW(HEAD_11 "A: b\x0c"), 400, { 0 } },
    { "value-escape", "5.5", RAW(HEAD_11 "A: b\x1b"), 400, { 0 } },
    { "value-unit-separator", "5.5", RAW(HEAD_11 "A: b\x1f"), 400, { 0 } },
    { "value-delete", "5.5", RAW(HEAD_11 "A: b\x7f"), 400, { 0 } },
    { "value-nul-late", "5.5",
      RAW(HEAD_11 "A: 0123456789012345678901234567890123456789012345678901234567890123456789\0"), 400, { 0 } },

    // §8.6: Content-Length
    { "length-largest", "8.6", RAW(POST_11 "Content-Length: 9223372036854775807\r\n\r\n"), CASE_DONE,
      { .content = WANT_LENGTH, .length = INT64_MAX } },
    { "length-leading-zeros", "8.6", RAW(POST_11 "Content-Length: 0000000000000000042\r\n\r\n"), CASE_DONE,
      { .content = WANT_LENGTH, .length = 42 } },
    { "length-space-around", "8.6", RAW(POST_11 "Content-Length: \t 42 \t\r\n\r\n"), CASE_DONE,
      { .content = WANT_LENGTH, .length = 42 } },
    { "length-too-large", "8.6", RAW(POST_11 "Content-Length: 9223372036854775808\r\n"), 400, { 0 } },
    { "length-19-nines", "8.6", RAW(POST_11 "Content-Length: 9999999999999999999\r\n"), 400, { 0 } },
    { "length-20-digits", "8.6", RAW(POST_11 "Content-Length: 18446744073709551621\r\n"), 400, { 0 } },
    { "length-empty", "8.6", RAW(POST_11 "Content-Length:\r\n"), 400, { 0 } },
    { "length-plus", "8.6", RAW(POST_11 "Content-Length: +4\r\n"), 400, { 0 } },
    { "length-minus", "8.6", RAW(POST_11 "Content-Length: -4\r\n"), 400, { 0 } },
    { "length-hexadecimal", "8.6", RAW(POST_11 "Content-Length: 0x4\r\n"), 400, { 0 } },
    { "length-fraction", "8.6", RAW(POST_11 "Content-Length: 4.0\r\n"), 400, { 0 } },
    { "length-two-words", "8.6", RAW(POST_11 "Content-Length: 4 2\r\n"), 400, { 0 } },
    { "length-letter", "8.6", RAW(POST_11 "Content-Length: 4a\r\n"), 400, { 0 } },
    { "length-quoted", "8.6", RAW(POST_11 "Content-Length: \"4\"\r\n"), 400, { 0 } },
    { "length-list", "8.6", RAW(POST_11 "Content-Length: 4, 4\r\n"), 400, { 0 } },
    { "length-trailing-comma", "8.6", RAW(POST_11 "Content-Length: 4,\r\n"), 400, { 0 } },
    { "length-repeated-equal", "8.6", RAW(POST_11 "Content-Length: 4\r\nContent-Length: 4\r\n"), 400, { 0 } },
    { "length-repeated-different", "8.6", RAW(POST_11 "Content-Length: 4\r\nA: b\r\nContent-Length: 5\r\n"),
      400, { 0 } },
    { "length-repeated-10", "8.6", RAW(POST_10 "Content-Length: 4\r\nContent-Length: 4\r\n"), 400, { 0 } },
    { "length-superscript", "8.6", RAW(POST_11 "Content-Length: \xb2\r\n"), 400, { 0 } },

    // §10.1.1: Expect
    { "expect-continue", "10.1.1", RAW(POST_11 "Expect: 100-continue\r\nContent-Length: 1\r\n\r\n"), CASE_DONE,
      { .content = WANT_LENGTH, .length = 1, .expectation = WANT_CONTINUE } },
    { "expect-any-case", "10.1.1", RAW(POST_11 "expect: 100-Continue\r\n\r\n"), CASE_DONE,
      { .expectation = WANT_CONTINUE } },
    { "expect-twice", "10.1.1", RAW(POST_11 "Expect: 100-continue, 100-continue\r\n\r\n"), CASE_DONE,
      { .expectation = WANT_CONTINUE } },
    { "expect-empty", "10.1.1", RAW(POST_11 "Expect:\r\n\r\n"), CASE_DONE, { .expectation = WANT_NO_CONTINUE } },
    { "expect-none", "10.1.1", RAW(POST_11 "\r\n"), CASE_DONE, { .expectation = WANT_NO_CONTINUE } },
    { "expect-other", "10.1.1", RAW(POST_11 "Expect: 200-ok\r\n\r\n"), 417, { 0 } },
    { "expect-both", "10.1.1", RAW(POST_11 "Expect: 100-continue, a=b\r\n\r\n"), 417, { 0 } },
    { "expect-longer", "10.1.1", RAW(POST_11 "Expect: 100-continued\r\n\r\n"), 417, { 0 } },
    { "expect-10", "10.1.1", RAW(POST_10 "Expect: 100-continue\r\n\r\n"), CASE_DONE,
      { .expectation = WANT_NO_CONTINUE } },
    { "expect-other-10", "10.1.1", RAW(POST_10 "Expect: 200-ok\r\n\r\n"), CASE_DONE,
      { .expectation = WANT_NO_CONTINUE } },
    { "expect-other-without-host", "10.1.1", RAW("GET / HTTP/1.1\r\nExpect: x\r\n\r\n"), 400, { 0 } },
};

enum { RFC9110_CASES = sizeof(rfc9110_cases) / sizeof(rfc9110_cases[0]) };

#undef HEAD_11
#undef POST_11
#undef POST_10

#endif
