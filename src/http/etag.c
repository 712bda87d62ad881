// SPDX-License-Identifier: MIT
//
// Entity tags. The key is no secret: it is the same everywhere, so that machines agree. What is sent is what
// was hashed, so that the tag is strong.

#include "http/etag.h"

static char *etag_put(char *at, uint64_t number)
{
    static const char digits[] = "0123456789abcdef";
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = digits[number >> shift & 15];
    return at;
}

static const siphash_key etag_key = { 0x616b732079746974, 0x6574206761742061 };

void etag_begin(siphash_stream *stream)
{
    siphash_stream_begin(stream, &etag_key);
}

size_t etag_write_hash(siphash_wide_hash hash, char text[ETAG_OCTETS])
{
    char *at = text;
    *at++ = '"';
    at = etag_put(etag_put(at, hash.high), hash.low);
    *at++ = '"';
    *at = 0;
    return (size_t)(at - text);
}

size_t etag_write(slice content, char text[ETAG_OCTETS])
{
    return etag_write_hash(siphash_wide(&etag_key, content), text);
}
