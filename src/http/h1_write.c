// SPDX-License-Identifier: MIT
//
// Writing the head of an HTTP/1 message.

#include "http/h1_write.h"

#include "base/assert.h"

char *h1_write_number(char *at, uint64_t n)
{
    if (n < 100) { // the lengths of the shortest answers, where it matters most
        if (n >= 10) *at++ = (char)('0' + n / 10);
        *at++ = (char)('0' + n % 10);
        return at;
    }
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
    if (status == 200) return H1_WRITE(at, "HTTP/1.1 200 OK\r\n");
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
