// SPDX-License-Identifier: MIT
//
// Hidden files that an upload has left because its process was killed.
#ifndef PROGRAM_UPLOAD_STALE_H
#define PROGRAM_UPLOAD_STALE_H

#include <stdbool.h>
#include <stdint.h>

// Names of hidden files begin with it. Two numbers follow, with "-" between them.
#define STALE_PREFIX ".skua-upload-"

enum {
    STALE_AGE_S = 60,      // since the last change of such a file
    STALE_FOLDERS_MAX = 64 // that are remembered to have been looked at
};

// Marks a file as one that is being written: no process takes it for one that was left, until fd is closed.
void stale_mark(int fd);

// Removes what was left in a folder, at the first call for it in this process. unix_ns: now.  Thread: any.
void stale_remove(int folder, int64_t unix_ns);

#endif
