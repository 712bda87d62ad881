// SPDX-License-Identifier: MIT
//
// HPACK decoder. A string that is not in Huffman's code stays in the block; one that is is decoded
// to memory that is used again; a field that is added to the table is shown there.

#include "http/hpack_decode.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"
#include "http/huffman.h"

enum {
    // The first bits of a field, RFC 7541 §6; the bits below are the prefix of an integer.
    HPACK_INDEXED = 0x80,
    HPACK_INCREMENTAL = 0x40,
    HPACK_SIZE_UPDATE = 0x20,
    HPACK_NEVER_INDEXED = 0x10,
    HPACK_IN_HUFFMAN = 0x80, // of a string

    HPACK_SIZE_UPDATES_MAX = 2, // in a block, RFC 7541 §4.2
    HPACK_TEXT_OCTETS_MIN = 896,
    HPACK_TEXT_OCTETS_KEPT = 4096, // for the next block
    HPACK_INTEGER_BITS = 32
};

// A string as it lies in the block.
typedef struct hpack_string {
    slice text;
    bool in_huffman;
    bool is_too_long;
} hpack_string;

void hpack_decoder_init(hpack_decoder *d, lease *memory, uint32_t table_octets_max,
                        uint32_t string_octets_max)
{
    SKUA_ASSERT(table_octets_max <= HPACK_TABLE_OCTETS_MAX);
    uint32_t first = HPACK_TABLE_OCTETS_AT_FIRST;
    if (string_octets_max < table_octets_max) string_octets_max = table_octets_max;
    *d = (hpack_decoder){ .table_octets_max = table_octets_max,
                          .string_octets_max = string_octets_max };
    hpack_table_init(&d->table, memory, table_octets_max < first ? table_octets_max : first);
}

static void hpack_decoder_forget_text(hpack_decoder *d)
{
    counted_free(d->text);
    d->text = NULL;
    d->text_room = 0;
}

void hpack_decoder_deinit(hpack_decoder *d)
{
    hpack_decoder_forget_text(d);
    hpack_table_deinit(&d->table);
}

void hpack_decoder_rest(hpack_decoder *d)
{
    hpack_decoder_forget_text(d);
    hpack_table_trim(&d->table);
}

void hpack_decoder_begin(hpack_decoder *d, slice block)
{
    d->at = (const unsigned char *)block.ptr;
    d->end = block.len ? d->at + block.len : d->at;
    d->updates_left = HPACK_SIZE_UPDATES_MAX;
}

void hpack_decoder_end(hpack_decoder *d)
{
    if (d->text_room > HPACK_TEXT_OCTETS_KEPT) hpack_decoder_forget_text(d);
}

// ---- Integers and strings ----

// The rest of an integer whose prefix is full, RFC 7541 §5.1.
static bool hpack_read_long(hpack_decoder *d, uint32_t *n)
{
    for (unsigned shift = 0; d->at < d->end && shift < HPACK_INTEGER_BITS; shift += 7) {
        uint32_t octet = *d->at++, more = octet & 0x7f;
        if (more > UINT32_MAX >> shift || more << shift > UINT32_MAX - *n) return false;
        *n += more << shift;
        if (octet < 0x80) return true;
    }
    return false;
}

// Reads an integer whose prefix has those bits. There is an octet.
static inline bool hpack_read_integer(hpack_decoder *d, unsigned prefix, uint32_t *n)
{
    *n = *d->at++ & prefix;
    return *n < prefix || hpack_read_long(d, n);
}

// A string that is too long has to be one nevertheless.
static bool hpack_judge_length(const hpack_decoder *d, hpack_string *s)
{
    size_t len = s->text.len;
    s->is_too_long = !s->in_huffman && len > d->string_octets_max;
    if (!s->in_huffman || huffman_room(len) <= d->string_octets_max) return true;
    if (!huffman_decoded_len(s->text, &len)) return false;
    s->is_too_long = len > d->string_octets_max;
    return true;
}

static bool hpack_read_string(hpack_decoder *d, hpack_string *s)
{
    uint32_t len;
    if (d->at == d->end) return false;
    s->in_huffman = (*d->at & HPACK_IN_HUFFMAN) != 0;
    if (!hpack_read_integer(d, 0x7f, &len)) return false;
    if (len > (size_t)(d->end - d->at)) return false;
    s->text = slice_make((const char *)d->at, len);
    d->at += len;
    return hpack_judge_length(d, s);
}

static size_t hpack_string_room(const hpack_string *s)
{
    return s->in_huffman ? huffman_room(s->text.len) : 0;
}

// ---- Fields ----

static bool hpack_copy_entry(const hpack_decoder *d, uint32_t index, hpack_field *field)
{
    const hpack_field *entry = hpack_decoder_entry(d, index, field);
    if (!entry) return false;
    if (entry != field) *field = *entry;
    return true;
}

static bool hpack_make_room(hpack_decoder *d, size_t octets)
{
    if (octets <= d->text_room) return true;
    if (octets < HPACK_TEXT_OCTETS_MIN) octets = HPACK_TEXT_OCTETS_MIN;
    hpack_decoder_forget_text(d);
    d->text = counted_alloc(d->table.memory, octets);
    if (!d->text) return false;
    d->text_room = (uint32_t)octets;
    return true;
}

// Decodes the string to *room, which is moved past it.
static bool hpack_take_string(const hpack_string *s, char **room, slice *out)
{
    *out = s->text;
    if (!s->in_huffman) return true;
    out->ptr = *room;
    if (!huffman_decode(s->text, *room, &out->len)) return false;
    *room += out->len;
    return true;
}

static hpack_event hpack_add_field(hpack_decoder *d, hpack_field *field)
{
    d->changes++;
    switch (hpack_table_add(&d->table, field)) {
    case HPACK_ADDED:
    case HPACK_TOO_LARGE: return HPACK_FIELD;
    case HPACK_NOT_ADDED: return HPACK_NO_MEMORY;
    }
    return HPACK_FAULT;
}

static bool hpack_count_string(const hpack_string *s, uint64_t *octets)
{
    size_t len = s->text.len;
    if (s->in_huffman && !huffman_decoded_len(s->text, &len)) return false;
    *octets += len;
    return true;
}

// If the peer has added the field, it is larger than the table: that is empty there now, and has to
// be here.
static hpack_event hpack_skip_field(hpack_decoder *d, const hpack_string *name,
                                    const hpack_string *value, hpack_field *field, bool is_added)
{
    uint64_t octets = field->name.len + HPACK_ENTRY_OVERHEAD;
    if (!hpack_count_string(name, &octets) || !hpack_count_string(value, &octets))
        return HPACK_FAULT;
    *field = (hpack_field){ .octets = octets < UINT32_MAX ? (uint32_t)octets : UINT32_MAX,
                            .flags = HPACK_IS_TOO_LONG };
    return is_added ? hpack_add_field(d, field) : HPACK_FIELD;
}

// Strings that are in Huffman's code are decoded one behind the other.
static hpack_event hpack_take_strings(hpack_decoder *d, const hpack_string *name,
                                      const hpack_string *value, hpack_field *field)
{
    bool is_named = field->name.len > 0; // by an entry
    if (!hpack_make_room(d, hpack_string_room(name) + hpack_string_room(value)))
        return HPACK_NO_MEMORY;
    char *room = d->text;
    if (!is_named && !hpack_take_string(name, &room, &field->name)) return HPACK_FAULT;
    if (!hpack_take_string(value, &room, &field->value)) return HPACK_FAULT;
    if (!is_named) hpack_field_judge_name(field);
    hpack_field_judge_value(field);
    return HPACK_FIELD;
}

// A literal, RFC 7541 §6.2. prefix: the bits of the name's index.
static hpack_event hpack_read_literal(hpack_decoder *d, unsigned prefix, hpack_field *field)
{
    static const hpack_string none = { .in_huffman = false };
    bool is_added = prefix == HPACK_INCREMENTAL - 1;
    hpack_string name = none, value;
    uint32_t index;
    if (!hpack_read_integer(d, prefix, &index)) return HPACK_FAULT;
    *field = (hpack_field){ .token = HPACK_TOKEN_FIELD };
    if (index ? !hpack_copy_entry(d, index, field) : !hpack_read_string(d, &name))
        return HPACK_FAULT;
    if (!hpack_read_string(d, &value)) return HPACK_FAULT;
    if (name.is_too_long || value.is_too_long)
        return hpack_skip_field(d, &name, &value, field, is_added);
    hpack_event event = hpack_take_strings(d, &name, &value, field);
    return event == HPACK_FIELD && is_added ? hpack_add_field(d, field) : event;
}

static hpack_event hpack_read_field(hpack_decoder *d, unsigned octet, hpack_field *field)
{
    d->updates_left = 0;
    if (octet >= HPACK_INCREMENTAL) return hpack_read_literal(d, HPACK_INCREMENTAL - 1, field);
    hpack_event event = hpack_read_literal(d, HPACK_NEVER_INDEXED - 1, field);
    if (octet >= HPACK_NEVER_INDEXED && event == HPACK_FIELD)
        field->flags |= HPACK_IS_NEVER_INDEXED;
    return event;
}

static bool hpack_read_size_update(hpack_decoder *d)
{
    uint32_t size;
    if (d->updates_left == 0 || !hpack_read_integer(d, HPACK_SIZE_UPDATE - 1, &size)) return false;
    if (size > d->table_octets_max) return false;
    d->updates_left--;
    d->size_updates++;
    d->changes++;
    hpack_table_resize(&d->table, size);
    return true;
}

static hpack_event hpack_read_indexed(hpack_decoder *d, hpack_field *field)
{
    uint32_t index;
    d->updates_left = 0;
    if (!hpack_read_integer(d, HPACK_INDEXED - 1, &index)) return HPACK_FAULT;
    return hpack_copy_entry(d, index, field) ? HPACK_FIELD : HPACK_FAULT;
}

hpack_event hpack_decoder_next(hpack_decoder *d, hpack_field *field)
{
    while (d->at < d->end) {
        unsigned octet = *d->at;
        if (octet >= HPACK_INDEXED) return hpack_read_indexed(d, field);
        if (octet < HPACK_SIZE_UPDATE || octet >= HPACK_INCREMENTAL)
            return hpack_read_field(d, octet, field);
        if (!hpack_read_size_update(d)) return HPACK_FAULT;
    }
    hpack_decoder_end(d);
    return HPACK_END;
}

#endif
