// SPDX-License-Identifier: MIT
//
// Static table.

#include "http/hpack_static.h"

#ifndef SKUA_NO_HTTP2

#include "http/octets.h"

enum { HPACK_STATIC_BITS = 7, HPACK_STATIC_NAME_MIN = 3 };

// Found by trying: with it no two names of the table have the same hash.
#define HPACK_STATIC_FACTOR UINT32_C(0x50ba7317)

#define HPACK_STATIC_FLAGGED(name, value, token, id, flags)                                        \
    { { name, sizeof name - 1 },                                                                   \
      { value, sizeof value - 1 },                                                                 \
      sizeof name + sizeof value - 2 + HPACK_ENTRY_OVERHEAD,                                       \
      token,                                                                                       \
      id,                                                                                          \
      HPACK_NAME_IS_VALID | HPACK_VALUE_IS_VALID | (flags) }
#define HPACK_STATIC(name, value, token, id) HPACK_STATIC_FLAGGED(name, value, token, id, 0)
#define HPACK_STATIC_SOUND(name, value, token)                                                     \
    HPACK_STATIC_FLAGGED(name, value, token, FIELD_OTHER, HPACK_VALUE_IS_SOUND)

const hpack_field hpack_static[HPACK_STATIC_COUNT] = {
    HPACK_STATIC_SOUND(":authority", "", HPACK_TOKEN_AUTHORITY),
    HPACK_STATIC_SOUND(":method", "GET", HPACK_TOKEN_METHOD),
    HPACK_STATIC_SOUND(":method", "POST", HPACK_TOKEN_METHOD),
    HPACK_STATIC_SOUND(":path", "/", HPACK_TOKEN_PATH),
    HPACK_STATIC_SOUND(":path", "/index.html", HPACK_TOKEN_PATH),
    HPACK_STATIC_SOUND(":scheme", "http", HPACK_TOKEN_SCHEME),
    HPACK_STATIC_SOUND(":scheme", "https", HPACK_TOKEN_SCHEME),
    HPACK_STATIC(":status", "200", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "204", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "206", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "304", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "400", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "404", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC(":status", "500", HPACK_TOKEN_STATUS, FIELD_OTHER),
    HPACK_STATIC("accept-charset", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("accept-encoding", "gzip, deflate", HPACK_TOKEN_FIELD, FIELD_ACCEPT_ENCODING),
    HPACK_STATIC("accept-language", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("accept-ranges", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("accept", "", HPACK_TOKEN_FIELD, FIELD_ACCEPT),
    HPACK_STATIC("access-control-allow-origin", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("age", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("allow", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("authorization", "", HPACK_TOKEN_FIELD, FIELD_AUTHORIZATION),
    HPACK_STATIC("cache-control", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-disposition", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-encoding", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-language", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-length", "", HPACK_TOKEN_FIELD, FIELD_CONTENT_LENGTH),
    HPACK_STATIC("content-location", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-range", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("content-type", "", HPACK_TOKEN_FIELD, FIELD_CONTENT_TYPE),
    HPACK_STATIC("cookie", "", HPACK_TOKEN_FIELD, FIELD_COOKIE),
    HPACK_STATIC("date", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("etag", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("expect", "", HPACK_TOKEN_FIELD, FIELD_EXPECT),
    HPACK_STATIC("expires", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("from", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC_FLAGGED("host", "", HPACK_TOKEN_FIELD, FIELD_HOST, HPACK_VALUE_IS_SOUND),
    HPACK_STATIC("if-match", "", HPACK_TOKEN_FIELD, FIELD_IF_MATCH),
    HPACK_STATIC("if-modified-since", "", HPACK_TOKEN_FIELD, FIELD_IF_MODIFIED_SINCE),
    HPACK_STATIC("if-none-match", "", HPACK_TOKEN_FIELD, FIELD_IF_NONE_MATCH),
    HPACK_STATIC("if-range", "", HPACK_TOKEN_FIELD, FIELD_IF_RANGE),
    HPACK_STATIC("if-unmodified-since", "", HPACK_TOKEN_FIELD, FIELD_IF_UNMODIFIED_SINCE),
    HPACK_STATIC("last-modified", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("link", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("location", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("max-forwards", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("proxy-authenticate", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("proxy-authorization", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("range", "", HPACK_TOKEN_FIELD, FIELD_RANGE),
    HPACK_STATIC("referer", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("refresh", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("retry-after", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("server", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("set-cookie", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("strict-transport-security", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("transfer-encoding", "", HPACK_TOKEN_FIELD, FIELD_TRANSFER_ENCODING),
    HPACK_STATIC("user-agent", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("vary", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("via", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
    HPACK_STATIC("www-authenticate", "", HPACK_TOKEN_FIELD, FIELD_OTHER),
};

// The index of the first entry with the name that has the hash; 0: none has.
static const uint8_t hpack_static_places[1 << HPACK_STATIC_BITS] = {
    31, 51, 19, 0,  0,  46, 17, 0,  0,  23, 26, 4,  30, 0,  0,  0, 0,  0,  0,  0,  0,  0,
    0,  39, 0,  53, 0,  1,  0,  6,  43, 25, 48, 22, 0,  35, 8,  0, 0,  0,  0,  29, 60, 38,
    0,  57, 16, 0,  0,  0,  0,  40, 50, 0,  32, 41, 36, 28, 47, 0, 0,  0,  0,  0,  0,  0,
    0,  0,  0,  0,  24, 0,  0,  52, 0,  0,  0,  33, 0,  0,  55, 0, 0,  0,  0,  0,  0,  20,
    0,  0,  0,  0,  21, 0,  0,  18, 0,  0,  27, 0,  0,  0,  45, 0, 37, 0,  34, 15, 0,  0,
    0,  0,  54, 58, 49, 2,  0,  0,  0,  61, 0,  59, 44, 0,  0,  0, 56, 42,
};

static uint32_t hpack_static_hash(slice name)
{
    const unsigned char *p = (const unsigned char *)name.ptr;
    uint32_t key = p[0] | (uint32_t)p[name.len - 1] << 8 | (uint32_t)p[name.len / 2] << 16 |
                   (uint32_t)name.len << 24;
    return key * HPACK_STATIC_FACTOR >> (32 - HPACK_STATIC_BITS);
}

unsigned hpack_static_find_name(slice name)
{
    if (name.len < HPACK_STATIC_NAME_MIN) return 0;
    unsigned index = hpack_static_places[hpack_static_hash(name)];
    return index && octets_slice_equal(hpack_static[index - 1].name, name) ? index : 0;
}

// Entries of one name are neighbours.
unsigned hpack_static_find(slice name, slice value)
{
    unsigned index = hpack_static_find_name(name);
    if (!index) return 0;
    const char *first = hpack_static[index - 1].name.ptr;
    for (; index <= HPACK_STATIC_COUNT; index++) {
        const hpack_field *entry = &hpack_static[index - 1];
        if (entry->name.ptr != first && !octets_slice_equal(entry->name, name)) return 0;
        if (octets_slice_equal(entry->value, value)) return index;
    }
    return 0;
}

#endif
