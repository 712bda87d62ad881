// SPDX-License-Identifier: MIT
//
// The dynamic table, RFC 7541 §2.3.2: fields in the order in which they came; when there is no room
// for a new one, the oldest go. It holds as much memory as it needs: the octets of the entries from
// the front, what is known of each from the back.
#ifndef SKUA_HTTP_HPACK_TABLE_H
#define SKUA_HTTP_HPACK_TABLE_H

#ifndef SKUA_NO_HTTP2

#include "base/budget.h"
#include "http/hpack_field.h"

enum {
    HPACK_TABLE_OCTETS_AT_FIRST = 4096, // until a size update, RFC 9113 §6.5.2
    HPACK_TABLE_OCTETS_MAX = 32768      // offsets have 16 bits
};

typedef struct hpack_entry {
    uint16_t at; // of its name; the value follows
    uint16_t name_len, value_len;
    uint8_t token, id, flags;
} hpack_entry;

typedef struct hpack_table {
    lease *memory;
    char *octets;      // NULL: no memory
    uint32_t room;     // octets in it
    uint32_t used;     // the next entry's octets go there
    uint32_t first;    // entries in memory that have gone
    uint32_t end;      // and those with them that have not
    uint32_t size;     // by RFC 7541 §4.1
    uint32_t size_max; // what the size may be at most
} hpack_table;

typedef enum hpack_added { HPACK_ADDED, HPACK_TOO_LARGE, HPACK_NOT_ADDED } hpack_added;

// size_max: at most HPACK_TABLE_OCTETS_MAX.
void hpack_table_init(hpack_table *t, lease *memory, uint32_t size_max);
void hpack_table_deinit(hpack_table *t);

static inline unsigned hpack_table_count(const hpack_table *t)
{
    return t->end - t->first;
}

// The entry that so many came after; i: less than hpack_table_count.
static inline const hpack_entry *hpack_table_at(const hpack_table *t, unsigned i)
{
    const void *back = t->octets + t->room;
    return (const hpack_entry *)back - (t->end - i);
}

static inline slice hpack_table_name(const hpack_table *t, const hpack_entry *entry)
{
    return slice_make(t->octets + entry->at, entry->name_len);
}

static inline slice hpack_table_value(const hpack_table *t, const hpack_entry *entry)
{
    return slice_make(t->octets + entry->at + entry->name_len, entry->value_len);
}

// Adds a copy of the field, whose name may be that of an entry, and points the field's slices to it.
// Old entries go until there is room.
// Returns: HPACK_TOO_LARGE: all have gone, and it was not added, which is no error (RFC 7541 §4.4).
// HPACK_NOT_ADDED: no memory; nothing has changed.
hpack_added hpack_table_add(hpack_table *t, hpack_field *field);

// Entries that are too many for the new maximum go.
void hpack_table_resize(hpack_table *t, uint32_t size_max);

// Gives back memory that no entry needs. Slices of entries are not valid any more.
void hpack_table_trim(hpack_table *t);

#endif
#endif
