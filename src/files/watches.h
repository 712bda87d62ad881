// SPDX-License-Identifier: MIT
//
// Watches: one for each directory from the root to a file, so that a change is seen at once. Their
// sum is taken before the file is opened; as long as it stays, nothing on the way to the file is
// known to have changed.
#ifndef SKUA_FILES_WATCHES_H
#define SKUA_FILES_WATCHES_H

#include "files/site.h"

// Directories deeper than that are not watched; what is below is revalidated each second as
// everything is.
enum { WATCHES_MAX = 16 };

typedef struct watches {
    unsigned count;
    skua_watch *list[WATCHES_MAX];
} watches;

// Opens those of the file at path. What cannot be watched is left out. May wait for the disk.
void watches_open(watches *w, const site *s, slice path);

// Watches the path as above if that needs no wait; else false, and none is open.
bool watches_try(watches *w, const site *s, slice path);

void watches_close(watches *w, const site *s);

static inline uint64_t watches_changes(const watches *w)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < w->count; i++)
        sum += skua_watch_changes(w->list[i]);
    return sum;
}

#endif
