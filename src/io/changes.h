// SPDX-License-Identifier: MIT
//
// Changes: what a kernel tells of directories that are watched. inotify tells of whatever happens
// in one; kqueue of entries that come, go or are renamed, and not of a file that is written to in
// place.
#ifndef SKUA_IO_CHANGES_H
#define SKUA_IO_CHANGES_H

#include "base/slice.h"

#include <stdbool.h>

typedef enum change_kind {
    CHANGE_INSIDE, // something in the directory
    CHANGE_GONE,   // the directory was moved, deleted or unmounted; its number has been removed
    CHANGE_LOST    // nobody knows: there were too many. Of every directory; number means nothing
} change_kind;

typedef void changes_fn(change_kind kind, int number, void *user);

// Whether a directory's changes include those of the content of its files. Where not, a file can be
// watched itself.
bool changes_include_writes(void);

// Whether a directory can be watched that another machine or process answers for (file_is_remote).
// inotify looks it up, and may wait for them; and tells of nothing that others do to it.
bool changes_include_remote(void);

// Returns: a descriptor that is readable when changes_read has something to tell, close-on-exec; or
// -1: nothing can be watched here.
int changes_open(void);

// Closes it; every number must have been removed. -1 is allowed.
void changes_close(int fd);

// Watches what directory is a descriptor of (or a file, where that makes sense), which may be
// closed afterwards. One directory may get the same number again.
// Errors: SKUA_ELIMIT, SKUA_ENOFILE, SKUA_ENOMEM, SKUA_EACCES, SKUA_EUNSUPPORTED.
skua_status changes_add(int fd, int directory, int *number);
void changes_remove(int fd, int number);

// Tells of what has changed, without waiting. told: may call changes_remove, and none of the
// others.
void changes_read(int fd, changes_fn *told, void *user);

#endif
