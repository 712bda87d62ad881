// SPDX-License-Identifier: MIT
//
// Decoding header blocks, RFC 7541.
#ifndef SKUA_HTTP_HPACK_DECODE_H
#define SKUA_HTTP_HPACK_DECODE_H

#ifndef SKUA_NO_HTTP2

#include "http/hpack_static.h"
#include "http/hpack_table.h"

typedef enum hpack_event {
    HPACK_FIELD,
    HPACK_END,      // of the block
    HPACK_FAULT,    // the block is none: COMPRESSION_ERROR
    HPACK_NO_MEMORY // the decoder is not in step with the peer any more
} hpack_event;

typedef struct hpack_decoder {
    uint64_t changes; // of the table, so far: as long as they are the same, so is the table
    const unsigned char *at, *end; // of the block
    uint32_t text_room;
    uint8_t updates_left; // that may come in this block; 0 behind its first field
    hpack_table table;
    char *text;                 // strings of the last field, out of Huffman's code; or NULL
    uint32_t table_octets_max;  // what the peer was told
    uint32_t string_octets_max; // longer ones are not kept
    uint32_t size_updates;      // that have come, in all blocks
} hpack_decoder;

// table_octets_max: the peer's size updates may go so far, as SETTINGS_HEADER_TABLE_SIZE told it; at
// most HPACK_TABLE_OCTETS_MAX. The table begins with that, or HPACK_TABLE_OCTETS_AT_FIRST if it is
// more.
// string_octets_max: a name or a value that is longer takes no memory; not less than
// table_octets_max, which is taken if it is.
void hpack_decoder_init(hpack_decoder *d, lease *memory, uint32_t table_octets_max,
                        uint32_t string_octets_max);
void hpack_decoder_deinit(hpack_decoder *d);

// Gives back what only blocks need, between two of them: to be called when the connection idles.
// What the peer has put into the table stays, in little more memory than it needs.
void hpack_decoder_rest(hpack_decoder *d);

// Gives back room for strings that are unusually long: for who has read the end of a block elsewhere than
// by hpack_decoder_next, which calls it.
void hpack_decoder_end(hpack_decoder *d);

// Begins a header block, which is complete and stays where it is until its end.
void hpack_decoder_begin(hpack_decoder *d, slice block);

// The next field of the block. Its slices are valid until the next call. After anything but FIELD,
// the next call is hpack_decoder_begin; after a fault there is none.
// Faults: an index of no entry; an integer that is cut or above 2^32 - 1; a string that is cut or no
// Huffman code; a size update that is not at the block's beginning, above the limit, or the third
// (RFC 7541 §4.2).
// The caller counts fields' octets, and size_updates.
hpack_event hpack_decoder_next(hpack_decoder *d, hpack_field *field);

// The next field, if it is one of the tables' whose index is one octet, as most are: room, or an entry
// of the static table. NULL: it is not, or there is none, as hpack_decoder_next will tell.
static inline const hpack_field *hpack_decoder_next_indexed(hpack_decoder *d, hpack_field *room);

// The entry of that index, shown in room if it is of the dynamic table; NULL: there is none, as there
// is none of 0.
static inline const hpack_field *hpack_decoder_entry(const hpack_decoder *d, uint32_t index,
                                                     hpack_field *room);

// Memory that it holds.
static inline size_t hpack_decoder_octets(const hpack_decoder *d)
{
    return (size_t)d->table.room + d->text_room;
}

static inline const hpack_field *hpack_decoder_entry(const hpack_decoder *d, uint32_t index,
                                                     hpack_field *room)
{
    if (index - 1 < HPACK_STATIC_COUNT) return &hpack_static[index - 1];
    index -= HPACK_STATIC_COUNT + 1;
    if (index >= hpack_table_count(&d->table)) return NULL;
    const hpack_entry *entry = hpack_table_at(&d->table, index);
    const char *text = d->table.octets + entry->at;
    room->name = slice_make(text, entry->name_len);
    room->value = slice_make(text + entry->name_len, entry->value_len);
    room->octets = (uint32_t)entry->name_len + entry->value_len + HPACK_ENTRY_OVERHEAD;
    room->token = entry->token;
    room->id = entry->id;
    room->flags = entry->flags;
    return room;
}

// An octet from 0x81 to 0xfe.
static inline const hpack_field *hpack_decoder_next_indexed(hpack_decoder *d, hpack_field *room)
{
    if (d->at == d->end || (unsigned)*d->at - 0x81 >= 0x7e) return NULL;
    const hpack_field *field = hpack_decoder_entry(d, *d->at & 0x7fu, room);
    if (!field) return NULL;
    d->at++;
    d->updates_left = 0;
    return field;
}

#endif
#endif
