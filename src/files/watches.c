// SPDX-License-Identifier: MIT
//
// Opening and closing the watches on the way to a file.

#include "files/watches.h"

static void watches_add(watches *w, const site *s, slice directory)
{
    skua_watch *watch;
    if (w->count == WATCHES_MAX) return;
    if (skua_watch_open(s->server, s->root, directory, &watch)) return;
    w->list[w->count++] = watch;
}

void watches_open(watches *w, const site *s, slice path)
{
    w->count = 0;
    watches_add(w, s, slice_make(path.ptr, 0));
    for (size_t i = 1; i < path.len; i++) {
        if (path.ptr[i] == '/') watches_add(w, s, slice_make(path.ptr, i));
    }
    if (!skua_watch_includes_writes()) watches_add(w, s, path);
}

void watches_close(watches *w, const site *s)
{
    while (w->count)
        skua_watch_close(s->server, w->list[--w->count]);
}
