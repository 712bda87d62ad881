// SPDX-License-Identifier: MIT
//
// Writing the head of an HTTP/1 message.

#include "http/h1_write.h"

#include "base/assert.h"

char *h1_write_number(char *at, uint64_t n)
{
    char digits[H1_NUMBER_OCTETS_MAX];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    return h1_write_octets(at, digits + i, sizeof digits - i);
}

char *h1_write_status(char *at, int status, slice reason)
{
    SKUA_ASSERT(status >= 100 && status <= 999);
    SKUA_ASSERT(reason.len <= 40);
    at = H1_WRITE(at, "HTTP/1.1 ");
    at = h1_write_number(at, (uint64_t)status);
    *at++ = ' '; // stays when there is no reason, RFC 9112 §4
    at = h1_write_slice(at, reason);
    return H1_WRITE(at, "\r\n");
}

char *h1_write_field(char *at, slice name, slice value)
{
    at = h1_write_slice(at, name);
    at = H1_WRITE(at, ": ");
    at = h1_write_slice(at, value);
    return H1_WRITE(at, "\r\n");
}
