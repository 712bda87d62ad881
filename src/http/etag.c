// SPDX-License-Identifier: MIT
//
// Entity tags. The key is no secret: it is the same everywhere, so that machines agree. What is sent is what
// was hashed, so that the tag is strong.

#include "http/etag.h"

#include "base/siphash.h"

static char *etag_put(char *at, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = digits[number >> shift & 15];
    return at;
}

size_t etag_write(slice content, char text[ETAG_OCTETS])
{
    static const siphash_key key = { 0x616b732079746974, 0x6574206761742061 };
    siphash_wide_hash hash = siphash_wide(&key, content);
    char *at = text;
    *at++ = '"';
    at = etag_put(etag_put(at, hash.high), hash.low);
    *at++ = '"';
    *at = 0;
    return (size_t)(at - text);
}
