// SPDX-License-Identifier: MIT
//
// A case of the conformance tables: a request's head as octets, and what must come of it. The
// tables are read by tests/unit/http/test_h1_head.c, which also writes them as seeds for
// tests/fuzz/fuzz_head.c:
//
//     http_test_h1_head --write-seeds tests/fuzz/seeds/head
#ifndef TESTS_CONFORMANCE_HEAD_CASE_H
#define TESTS_CONFORMANCE_HEAD_CASE_H

#include "base/slice.h"

enum { CASE_MORE = 1, CASE_DONE = 2 }; // or a status

// The contents that a complete head is to have. A member that is zero is not looked at, but for
// content.
typedef struct head_want {
    const char *method;
    const char *target;
    const char *field; // the last field line, as "name|value"
    int version;
    enum { WANT_NO_CONTENT, WANT_LENGTH, WANT_CHUNKED } content;
    uint64_t length;
    enum { WANT_EITHER, WANT_KEEP, WANT_CLOSE } persistence;
    enum { WANT_ANY_EXPECTATION, WANT_CONTINUE, WANT_NO_CONTINUE } expectation;
} head_want;

typedef struct head_case {
    const char *name; // also the seed's file name: lower-case letters, digits, "-"
    const char *section;
    skua_slice raw; // ends with the octet that makes the outcome: no octet less may have it, none
                    // more change it
    int outcome;
    head_want want;
} head_case;

// Octets that may hold NUL.
#define RAW(literal) { ("" literal), sizeof(literal) - 1 }

#endif
