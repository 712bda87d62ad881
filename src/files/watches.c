// SPDX-License-Identifier: MIT
//
// Opening and closing the watches on the way to a file.

#include "files/watches.h"

// Adds one; false if that would wait, and must not.
static bool watches_add(watches *w, const site *s, slice directory, bool wait)
{
    skua_watch *watch;
    skua_status status;
    if (w->count == WATCHES_MAX) return true;
    if (wait) status = skua_watch_open(s->server, s->root, directory, &watch);
    else if (!skua_watch_try(s->server, s->root, directory, &watch, &status)) return false;
    if (!status) w->list[w->count++] = watch;
    return true;
}

static bool watches_add_all(watches *w, const site *s, slice path, bool wait)
{
    bool all = watches_add(w, s, slice_make(path.ptr, 0), wait);
    for (size_t i = 1; all && i < path.len; i++) {
        if (path.ptr[i] == '/') all = watches_add(w, s, slice_make(path.ptr, i), wait);
    }
    if (all && !skua_watch_includes_writes()) all = watches_add(w, s, path, wait);
    return all;
}

void watches_open(watches *w, const site *s, slice path)
{
    w->count = 0;
    (void)watches_add_all(w, s, path, true);
}

bool watches_try(watches *w, const site *s, slice path)
{
    w->count = 0;
    if (watches_add_all(w, s, path, false)) return true;
    watches_close(w, s);
    return false;
}

void watches_close(watches *w, const site *s)
{
    while (w->count)
        skua_watch_close(s->server, w->list[--w->count]);
}
