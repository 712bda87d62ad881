// SPDX-License-Identifier: MIT
//
// Entry: one publication in the store's stream, as names and values. Any program may write to the
// stream, so everything in an entry is checked.
#ifndef SKUA_BRIDGE_ENTRY_H
#define SKUA_BRIDGE_ENTRY_H

#include "base/slice.h"

enum {
    BRIDGE_INSTANCE_OCTETS = 32, // hexadecimal
    BRIDGE_FIELDS_MAX = 32,      // of an entry that is read, names and values
    BRIDGE_WORDS_MAX = 14,       // of one that is written
    BRIDGE_NUMBER_OCTETS = 24
};

typedef enum bridge_kind {
    BRIDGE_TEXT = 't',   // a publication
    BRIDGE_BINARY = 'b', // one
    BRIDGE_COUNT = 'c',  // says how far the numbers of an instance have come
    BRIDGE_HELLO = 'h'   // says that, too, and asks whoever has not heard of the instance to do so
} bridge_kind;

// Slices are valid as long as the memory that they were read from.
typedef struct bridge_entry {
    bridge_kind kind;
    slice instance; // of the server that has published
    // of the publication among those of its instance, from 1; of a count and a hello, the last before it
    uint64_t number;
    slice topic, message, event, id; // of a publication. id.ptr NULL: none
} bridge_entry;

static inline bool bridge_entry_publishes(const bridge_entry *entry)
{
    return entry->kind == BRIDGE_TEXT || entry->kind == BRIDGE_BINARY;
}

// Reads the names and values of an entry: words of them, of which each second is a value.
// Returns: false when they are none of this program's.
bool bridge_entry_read(const slice *words, size_t count, bridge_entry *entry);

// Writes names and values. text: for the number, valid as long as the words are needed.
// Returns: how many words there are.
size_t bridge_entry_write(const bridge_entry *entry, char text[BRIDGE_NUMBER_OCTETS],
                          slice words[BRIDGE_WORDS_MAX]);

#endif
