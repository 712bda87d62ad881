// SPDX-License-Identifier: MIT
//
// Writing the head of an HTTP/1 message, RFC 9112 §4 and §5, into room the caller has made.
// Each function returns where the next octet goes.
#ifndef SKUA_HTTP_H1_WRITE_H
#define SKUA_HTTP_H1_WRITE_H

#include "base/slice.h"

#include <stdint.h>

enum { H1_STATUS_LINE_OCTETS_MAX = 64, H1_NUMBER_OCTETS_MAX = 20 };

static inline char *h1_write_octets(char *at, const char *octets, size_t len)
{
    memcpy(at, octets, len);
    return at + len;
}

// A literal: its length is a constant, so that the copy becomes a few moves.
#define H1_WRITE(at, literal) h1_write_octets((at), (literal), sizeof(literal) - 1)

static inline char *h1_write_slice(char *at, slice text)
{
    if (text.len - 8 <= 8) { // as most media types are: two moves cost less than a call
        uint64_t first, last;
        memcpy(&first, text.ptr, sizeof first);
        memcpy(&last, text.ptr + text.len - sizeof last, sizeof last);
        memcpy(at, &first, sizeof first);
        memcpy(at + text.len - sizeof last, &last, sizeof last);
        return at + text.len;
    }
    return h1_write_octets(at, text.ptr, text.len);
}

// Decimal digits; at most H1_NUMBER_OCTETS_MAX.
char *h1_write_number(char *at, uint64_t n);

// Writes a number as h1_write_number does, where most numbers are small and it has to be quick.
static inline char *h1_write_length(char *at, uint64_t n)
{
    if (n >= 100) return h1_write_number(at, n);
    unsigned tens = (unsigned)n / 10, ones = (unsigned)n - 10 * tens;
    if (tens) *at++ = (char)('0' + tens);
    *at++ = (char)('0' + ones);
    return at;
}

// "HTTP/1.1 200 OK" CRLF. reason: at most 40 octets.
char *h1_write_status(char *at, int status, slice reason);

// name ": " value CRLF.
char *h1_write_field(char *at, slice name, slice value);

#endif
