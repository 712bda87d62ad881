// SPDX-License-Identifier: MIT
//
// Top: of names that come in any number, those that count most, in bounded memory.
// Counts follow Metwally's space-saving: a name that finds no room takes the place of the least, and its count with it,
// so that no count is too small, and a name of more than a share of 1/TOP_ROOM is never missed. Values keep the greatest
// of each name for an hour.
#ifndef PROGRAM_STATUS_TOP_H
#define PROGRAM_STATUS_TOP_H

#include <skua/skua.h>

enum {
    TOP_ROOM = 64, // names that are kept
    TOP_NAME_OCTETS = 120,
    TOP_MINUTES = 60 // that a value is kept; a count is halved as often as every 15 of them
};

typedef struct top_entry {
    uint64_t weight;
    int64_t minute; // of a value
    unsigned len;
    char name[TOP_NAME_OCTETS]; // cut
} top_entry;

typedef struct top {
    unsigned count;
    top_entry entries[TOP_ROOM]; // in no order
} top;

// Adds to the count of name, which is cut.
void top_count(top *t, skua_slice name, uint64_t weight);

// Notes a value of name, which is cut. minute: the present one, of a clock that never goes back.
void top_value(top *t, skua_slice name, uint64_t value, int64_t minute);

// Halves all counts, and drops those that were 1.
void top_fade(top *t);

// Drops values that are too old.
void top_expire(top *t, int64_t minute);

// Puts the entries into their order, the greatest first; equal ones by name.
void top_order(top *t);

#endif
