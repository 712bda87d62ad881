// SPDX-License-Identifier: MIT
//
// Entries of the stream. A field is known by its first letter: i instance, n number, k kind, t topic, m message,
// e event, d id. Fields of later versions are passed over; kinds of later versions are not understood.

#include "bridge/entry.h"

#include <inttypes.h>
#include <stdio.h>

static bool bridge_is_instance(slice text)
{
    if (text.len != BRIDGE_INSTANCE_OCTETS) return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    }
    return true;
}

static bool bridge_read_number(slice text, uint64_t *number)
{
    int64_t value;
    if (!text.len || text.ptr[0] == '-' || !skua_slice_i64(text, &value)) return false;
    *number = (uint64_t)value;
    return true;
}

static slice *bridge_entry_field(bridge_entry *entry, slice *number, slice *kind, slice name)
{
    if (name.len != 1) return NULL;
    switch (name.ptr[0]) {
    case 'i': return &entry->instance;
    case 'n': return number;
    case 'k': return kind;
    case 't': return &entry->topic;
    case 'm': return &entry->message;
    case 'e': return &entry->event;
    case 'd': return &entry->id;
    }
    return NULL;
}

static bool bridge_read_kind(slice text, bridge_kind *kind)
{
    if (text.len != 1) return false;
    char c = text.ptr[0];
    if (c != BRIDGE_TEXT && c != BRIDGE_BINARY && c != BRIDGE_COUNT && c != BRIDGE_HELLO)
        return false;
    *kind = (bridge_kind)c;
    return true;
}

bool bridge_entry_read(const slice *words, size_t count, bridge_entry *entry)
{
    bridge_entry read = { .kind = BRIDGE_HELLO };
    slice number = { NULL, 0 }, kind = { NULL, 0 };
    if (count % 2 || count > BRIDGE_FIELDS_MAX) return false;
    for (size_t i = 0; i < count; i += 2) {
        slice *field = bridge_entry_field(&read, &number, &kind, words[i]);
        if (field && field->ptr) return false; // twice
        if (field) *field = slice_make(words[i + 1].len ? words[i + 1].ptr : "", words[i + 1].len);
    }
    if (!bridge_is_instance(read.instance) || !bridge_read_number(number, &read.number) ||
        !bridge_read_kind(kind, &read.kind))
        return false;
    if (bridge_entry_publishes(&read) && (read.number == 0 || !read.topic.len)) return false;
    *entry = read;
    return true;
}

size_t bridge_entry_write(const bridge_entry *entry, char text[BRIDGE_NUMBER_OCTETS],
                          slice words[BRIDGE_WORDS_MAX])
{
    static const char kinds[] = "tbch";
    size_t count = 0;
    int len = snprintf(text, BRIDGE_NUMBER_OCTETS, "%" PRIu64, entry->number);
    words[count++] = SKUA_SLICE("i");
    words[count++] = entry->instance;
    words[count++] = SKUA_SLICE("n");
    words[count++] = slice_make(text, (size_t)len);
    words[count++] = SKUA_SLICE("k");
    words[count++] = slice_make(strchr(kinds, (int)entry->kind), 1);
    if (!bridge_entry_publishes(entry)) return count;
    words[count++] = SKUA_SLICE("t");
    words[count++] = entry->topic;
    words[count++] = SKUA_SLICE("m");
    words[count++] = entry->message;
    if (entry->event.len) {
        words[count++] = SKUA_SLICE("e");
        words[count++] = entry->event;
    }
    if (entry->id.ptr) {
        words[count++] = SKUA_SLICE("d");
        words[count++] = entry->id;
    }
    return count;
}
