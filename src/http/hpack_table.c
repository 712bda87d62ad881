// SPDX-License-Identifier: MIT
//
// Dynamic table. Entries are appended to its memory until that is full. Then what is left of them
// is copied to new memory of the right size, so that slices of entries that have just gone are
// valid until the new entry is complete.

#include "http/hpack_table.h"

#ifndef SKUA_NO_HTTP2

#include "base/assert.h"

enum {
    HPACK_SPARE_MIN = 128, // octets that new memory has for entries to come
    HPACK_SPARE_SHARE = 4, // and a share of what is in it
    HPACK_SPARE_KEPT = 64  // so few are not worth a move to have them back
};

void hpack_table_init(hpack_table *t, lease *memory, uint32_t size_max)
{
    SKUA_ASSERT(size_max <= HPACK_TABLE_OCTETS_MAX);
    *t = (hpack_table){ .memory = memory, .size_max = size_max };
}

void hpack_table_deinit(hpack_table *t)
{
    counted_free(t->octets);
    t->octets = NULL;
    t->room = t->used = t->first = t->end = t->size = 0;
}

static uint32_t hpack_entry_size(const hpack_entry *entry)
{
    return (uint32_t)entry->name_len + entry->value_len + HPACK_ENTRY_OVERHEAD;
}

static void hpack_table_evict(hpack_table *t, uint32_t size_max)
{
    while (t->size > size_max) {
        t->size -= hpack_entry_size(hpack_table_at(t, hpack_table_count(t) - 1));
        t->first++;
    }
}

void hpack_table_resize(hpack_table *t, uint32_t size_max)
{
    SKUA_ASSERT(size_max <= HPACK_TABLE_OCTETS_MAX);
    t->size_max = size_max;
    hpack_table_evict(t, size_max);
}

// ---- Memory ----

// Octets that the entries need.
static uint32_t hpack_table_needs(const hpack_table *t)
{
    uint32_t count = hpack_table_count(t);
    return t->size - count * HPACK_ENTRY_OVERHEAD + count * (uint32_t)sizeof(hpack_entry);
}

// Copies the entries to memory of that many octets. Returns the memory before, which the caller
// frees; NULL: there was none, or there is none now.
static bool hpack_table_move(hpack_table *t, uint32_t room, char **before)
{
    room = (room + 1) & ~UINT32_C(1); // entries lie on even addresses
    char *octets = counted_alloc(t->memory, room);
    if (!octets) return false;
    hpack_table moved = *t;
    moved.octets = octets;
    moved.room = room;
    moved.first = 0;
    moved.end = hpack_table_count(t);
    uint32_t start = moved.end ? hpack_table_at(t, moved.end - 1)->at : t->used;
    moved.used = t->used - start;
    if (moved.used) memcpy(octets, t->octets + start, moved.used);
    hpack_entry *to = (hpack_entry *)(void *)(octets + room);
    for (uint32_t i = moved.end; i > 0; i--) {
        *--to = *hpack_table_at(t, i - 1);
        to->at = (uint16_t)(to->at - start);
    }
    *before = t->octets;
    *t = moved;
    return true;
}

// Room for an entry of so many octets more. With a quarter and some more to spare, few entries move
// the others; a table that is full has what RFC 7541 counts and this memory does not need.
static bool hpack_table_reserve(hpack_table *t, uint32_t more, char **before)
{
    uint32_t left = t->room - t->used - t->end * (uint32_t)sizeof(hpack_entry);
    if (t->octets && more <= left) return true;
    uint32_t needs = hpack_table_needs(t) + more;
    uint32_t room = needs + needs / HPACK_SPARE_SHARE + HPACK_SPARE_MIN;
    if (room > t->size_max) room = t->size_max > needs ? t->size_max : needs;
    return hpack_table_move(t, room, before);
}

void hpack_table_trim(hpack_table *t)
{
    if (!t->octets) return;
    if (hpack_table_count(t) == 0) {
        hpack_table_deinit(t);
        return;
    }
    uint32_t needs = hpack_table_needs(t);
    if (t->room - needs < HPACK_SPARE_KEPT) return;
    char *before = NULL;
    if (hpack_table_move(t, needs, &before)) counted_free(before);
}

// ---- Adding ----

static void hpack_table_append(hpack_table *t, hpack_field *field)
{
    char *at = t->octets + t->used;
    hpack_entry *entry = (hpack_entry *)(void *)(t->octets + t->room) - ++t->end;
    *entry = (hpack_entry){ .at = (uint16_t)t->used,
                            .name_len = (uint16_t)field->name.len,
                            .value_len = (uint16_t)field->value.len,
                            .token = field->token,
                            .id = field->id,
                            .flags = field->flags };
    if (field->name.len) memcpy(at, field->name.ptr, field->name.len);
    if (field->value.len) memcpy(at + field->name.len, field->value.ptr, field->value.len);
    field->name.ptr = at;
    field->value.ptr = at + field->name.len;
    t->used += (uint32_t)(field->name.len + field->value.len);
    t->size += field->octets;
}

hpack_added hpack_table_add(hpack_table *t, hpack_field *field)
{
    if (field->octets > t->size_max) {
        hpack_table_evict(t, 0);
        return HPACK_TOO_LARGE;
    }
    hpack_table kept = *t;
    char *before = NULL;
    hpack_table_evict(t, t->size_max - field->octets);
    uint32_t more = field->octets - HPACK_ENTRY_OVERHEAD + (uint32_t)sizeof(hpack_entry);
    if (!hpack_table_reserve(t, more, &before)) {
        *t = kept;
        return HPACK_NOT_ADDED;
    }
    hpack_table_append(t, field);
    counted_free(before);
    return HPACK_ADDED;
}

#endif
