// SPDX-License-Identifier: MIT

#include "status/top.h"

#include <stdlib.h>
#include <string.h>

static skua_slice top_cut(skua_slice name)
{
    if (name.len > TOP_NAME_OCTETS) name.len = TOP_NAME_OCTETS;
    return name;
}

static top_entry *top_find(top *t, skua_slice name)
{
    for (unsigned i = 0; i < t->count; i++) {
        top_entry *at = &t->entries[i];
        if (at->len == name.len && memcmp(at->name, name.ptr, name.len) == 0) return at;
    }
    return NULL;
}

static top_entry *top_least(top *t)
{
    top_entry *least = &t->entries[0];
    for (unsigned i = 1; i < t->count; i++) {
        if (t->entries[i].weight < least->weight) least = &t->entries[i];
    }
    return least;
}

static void top_name(top_entry *entry, skua_slice name)
{
    entry->len = (unsigned)name.len;
    if (name.len) memcpy(entry->name, name.ptr, name.len);
}

// A new one, of weight 0; NULL: there is no room.
static top_entry *top_add(top *t, skua_slice name)
{
    if (t->count == TOP_ROOM) return NULL;
    top_entry *added = &t->entries[t->count++];
    added->weight = 0;
    top_name(added, name);
    return added;
}

void top_count(top *t, skua_slice name, uint64_t weight)
{
    name = top_cut(name);
    top_entry *entry = top_find(t, name);
    if (!entry) entry = top_add(t, name);
    if (!entry) {
        entry = top_least(t);
        top_name(entry, name);
    }
    entry->weight += weight;
}

void top_value(top *t, skua_slice name, uint64_t value, int64_t minute)
{
    name = top_cut(name);
    top_expire(t, minute);
    top_entry *entry = top_find(t, name);
    if (!entry) entry = top_add(t, name);
    if (!entry) {
        entry = top_least(t);
        if (entry->weight >= value) return;
        top_name(entry, name);
    } else if (entry->weight > value) {
        return;
    }
    entry->weight = value;
    entry->minute = minute;
}

static void top_drop(top *t, unsigned at)
{
    t->entries[at] = t->entries[--t->count];
}

void top_fade(top *t)
{
    for (unsigned i = t->count; i-- > 0;) {
        t->entries[i].weight /= 2;
        if (!t->entries[i].weight) top_drop(t, i);
    }
}

void top_expire(top *t, int64_t minute)
{
    for (unsigned i = t->count; i-- > 0;) {
        if (minute - t->entries[i].minute >= TOP_MINUTES) top_drop(t, i);
    }
}

static int top_compare(const void *left, const void *right)
{
    const top_entry *a = left, *b = right;
    if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
    unsigned common = a->len < b->len ? a->len : b->len;
    int order = memcmp(a->name, b->name, common);
    return order ? order : (int)a->len - (int)b->len;
}

void top_order(top *t)
{
    qsort(t->entries, t->count, sizeof *t->entries, top_compare);
}
