// SPDX-License-Identifier: MIT
//
// Origins. There are as many as machines, and one more at each start of one: a list is enough.

#include "bridge/origins.h"

#include "base/assert.h"
#include "base/memory.h"

static bridge_origin *bridge_origins_find(const bridge_origins *origins, slice instance)
{
    for (size_t i = 0; i < origins->count; i++) {
        if (memcmp(origins->list[i].instance, instance.ptr, BRIDGE_INSTANCE_OCTETS) == 0)
            return &origins->list[i];
    }
    return NULL;
}

bool bridge_origins_know(const bridge_origins *origins, slice instance)
{
    return bridge_origins_find(origins, instance) != NULL;
}

bridge_verdict bridge_origins_judge(const bridge_origins *origins, const bridge_entry *entry)
{
    const bridge_origin *known = bridge_origins_find(origins, entry->instance);
    if (!known) return BRIDGE_NEXT;
    uint64_t after = bridge_entry_publishes(entry) ? known->number + 1 : known->number;
    if (entry->number > after) return BRIDGE_GAP;
    return entry->number == after ? BRIDGE_NEXT : BRIDGE_AGAIN;
}

static bridge_origin *bridge_origins_oldest(const bridge_origins *origins)
{
    bridge_origin *oldest = origins->list;
    for (size_t i = 1; i < origins->count; i++) {
        if (origins->list[i].used < oldest->used) oldest = &origins->list[i];
    }
    return oldest;
}

bool bridge_origins_make_room(bridge_origins *origins)
{
    if (origins->count < origins->room || origins->count == BRIDGE_ORIGINS_MAX) return true;
    size_t room = origins->room ? origins->room * 2 : 8;
    bridge_origin *list = memory_resize(origins->list, room * sizeof *list);
    if (!list) return false;
    origins->list = list;
    origins->room = room;
    return true;
}

static bridge_origin *bridge_origins_add(bridge_origins *origins, slice instance)
{
    bool is_full = origins->count == BRIDGE_ORIGINS_MAX;
    SKUA_ASSERT(is_full || origins->count < origins->room);
    bridge_origin *at = is_full ? bridge_origins_oldest(origins) : &origins->list[origins->count++];
    *at = (bridge_origin){ .number = 0 };
    memcpy(at->instance, instance.ptr, BRIDGE_INSTANCE_OCTETS);
    return at;
}

void bridge_origins_record(bridge_origins *origins, slice instance, uint64_t number)
{
    bridge_origin *at = bridge_origins_find(origins, instance);
    if (!at) at = bridge_origins_add(origins, instance);
    if (number > at->number) at->number = number;
    at->used = ++origins->uses;
}

void bridge_origins_drop(bridge_origins *origins)
{
    memory_free(origins->list);
    *origins = (bridge_origins){ .list = NULL };
}
