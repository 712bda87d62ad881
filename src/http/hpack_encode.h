// SPDX-License-Identifier: MIT
//
// Encoding header blocks, RFC 7541. Each function writes into room the caller has made and returns
// where the next octet goes; none of them fails: without memory there is no table.
#ifndef SKUA_HTTP_HPACK_ENCODE_H
#define SKUA_HTTP_HPACK_ENCODE_H

#ifndef SKUA_NO_HTTP2

#include "http/hpack_static.h"
#include "http/hpack_table.h"

enum {
    HPACK_FIELD_AROUND = 12, // octets that a field may take besides name and value
    HPACK_BEGIN_OCTETS_MAX = 12,
    HPACK_STATUS_OCTETS_MAX = 8,
    HPACK_LENGTH_OCTETS_MAX = 23
};

typedef enum hpack_indexing {
    // As it suits the name. Secrets are never indexed: cookies, credentials, and challenges, which
    // may hold tokens. Without an index are values that are new each time: dates, lengths, tags,
    // locations and the like. All others are added to the table, unless they are larger than a
    // quarter of it, or it has the name, which RFC 7541's static table has not, with another value:
    // that value will change again.
    HPACK_INDEXING_BY_NAME,
    HPACK_INDEXING_NONE, // it is not added
    HPACK_INDEXING_NEVER // nor may anybody else who sends it on
} hpack_indexing;

// A response like the one before needs the last two members alone: a session has its decoder, whose first members are the
// ones for a request like the one before, behind its encoder.
typedef struct hpack_encoder {
    hpack_table table;
    uint16_t *places;      // of entries, by hash; NULL: none yet
    uint32_t table_octets; // that we use at most
    uint32_t next_octets;  // the table's size from the next block on
    uint32_t least_octets; // its least size since the last block
    uint16_t added;        // entries so far
    bool is_resized;       // the next block begins with size updates
    uint64_t changes;      // of the table, so far: as long as they are the same, so is the table
} hpack_encoder;

// table_octets: how many the table has at most; not more than HPACK_TABLE_OCTETS_AT_FIRST.
void hpack_encoder_init(hpack_encoder *e, lease *memory, uint32_t table_octets);
void hpack_encoder_deinit(hpack_encoder *e);

// The peer's SETTINGS_HEADER_TABLE_SIZE has changed.
void hpack_encoder_resize(hpack_encoder *e, uint32_t limit);

// Gives the table's memory back. If there was anything in it, the next block empties the peer's
// table too.
void hpack_encoder_drop(hpack_encoder *e);

// Memory that it holds.
size_t hpack_encoder_octets(const hpack_encoder *e);

char *hpack_encode_size(hpack_encoder *e, char *at);
char *hpack_encode_other_status(hpack_encoder *e, char *at, int status);

// Begins a block with the size updates that are due; at most HPACK_BEGIN_OCTETS_MAX.
static inline char *hpack_encode_begin(hpack_encoder *e, char *at)
{
    return e->is_resized ? hpack_encode_size(e, at) : at;
}

// status: 100 to 999. At most HPACK_STATUS_OCTETS_MAX.
static inline char *hpack_encode_status(hpack_encoder *e, char *at, int status)
{
    if (status != 200) return hpack_encode_other_status(e, at, status);
    *at = (char)(0x80 | HPACK_STATIC_STATUS);
    return at + 1;
}

// Writes content-length; at most HPACK_LENGTH_OCTETS_MAX.
char *hpack_encode_length(char *at, uint64_t length);

// The octets that a field may take, by whichever function.
static inline size_t hpack_encode_room(slice name, slice value)
{
    return name.len + value.len + HPACK_FIELD_AROUND;
}

// Writes a field, whose name is written in lower case. name: not empty. name and value: less than
// 2^28 octets.
char *hpack_encode_field(hpack_encoder *e, char *at, slice name, slice value, hpack_indexing how);

// Writes a field whose name is that of an entry of the static table, as HPACK_INDEXING_BY_NAME does.
// index: such as HPACK_STATIC_CONTENT_TYPE.
char *hpack_encode_known(hpack_encoder *e, char *at, unsigned index, slice value);

// Writes date, whose value is put into the table: it is that of many responses. One of HTTP's, not empty.
char *hpack_encode_date(hpack_encoder *e, char *at, slice value);

// Writes a field as HPACK_INDEXING_BY_NAME does, but without a table, so that the octets may be kept
// and stand in any block. Strings are in Huffman's code where that makes them shorter.
char *hpack_encode_plain(char *at, slice name, slice value);

#endif
#endif
