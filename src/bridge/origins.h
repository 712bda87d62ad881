// SPDX-License-Identifier: MIT
//
// Origins: the instances that publications have come from, and the last number of each. By the
// numbers, duplicates are ignored and gaps are noticed.
#ifndef SKUA_BRIDGE_ORIGINS_H
#define SKUA_BRIDGE_ORIGINS_H

#include "bridge/entry.h"

enum { BRIDGE_ORIGINS_MAX = 1024 };

typedef struct bridge_origin {
    char instance[BRIDGE_INSTANCE_OCTETS];
    uint64_t number; // of the last publication
    uint64_t used;   // the count of uses at the last one
} bridge_origin;

// Zeroed, there are none.
typedef struct bridge_origins {
    bridge_origin *list; // one after the other
    size_t count, room;
    uint64_t uses;
} bridge_origins;

typedef enum bridge_verdict {
    BRIDGE_NEXT,  // it follows the last one, or is the first
    BRIDGE_AGAIN, // it has come before
    BRIDGE_GAP    // some before it are missing
} bridge_verdict;

// Whether something of that instance has come.
bool bridge_origins_know(const bridge_origins *origins, slice instance);

// The place of an entry among those of its instance.
bridge_verdict bridge_origins_judge(const bridge_origins *origins, const bridge_entry *entry);

// Makes room for one more instance.
// Returns: false when memory ran out.
bool bridge_origins_make_room(bridge_origins *origins);

// Records that all of an instance up to number have come. There must be room. When there are too many instances, the
// one that was heard of longest ago is forgotten.
void bridge_origins_record(bridge_origins *origins, slice instance, uint64_t number);

void bridge_origins_drop(bridge_origins *origins);

#endif
