// SPDX-License-Identifier: MIT
//
// Watches: directories whose changes are counted, by one inotify instance (or kqueue). Every worker
// polls it, so that a change made before a request was sent is counted before that request is
// served; whichever worker is first reads the events.
#ifndef SKUA_DISK_WATCH_H
#define SKUA_DISK_WATCH_H

#include "base/slice.h"

typedef struct watch_set watch_set;

// NULL when memory ran out. Where the kernel tells of no changes (or has no instance to spare) the
// set is made all the same, and every watch is SKUA_EUNSUPPORTED.
watch_set *watch_set_new(void);

// Every watch must be closed. NULL is allowed.
void watch_set_free(watch_set *set);

// Readable when there are changes to be read by watch_set_read; -1: never.
int watch_set_fd(const watch_set *set);

// Reads what there is, without waiting, and counts it.  Thread: any.
void watch_set_read(watch_set *set);

// The functions skua_watch_open, skua_watch_try and skua_watch_close, on a set.  Thread: any.
skua_status watch_open(watch_set *set, skua_root *root, slice path, skua_watch **watch);
bool watch_try(watch_set *set, skua_root *root, slice path, skua_watch **watch,
               skua_status *status);
void watch_close(watch_set *set, skua_watch *watch);

#endif
