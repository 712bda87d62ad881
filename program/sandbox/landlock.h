// SPDX-License-Identifier: MIT
//
// Landlock: which files a process may open from now on, and that it neither binds nor connects TCP sockets.
#ifndef PROGRAM_SANDBOX_LANDLOCK_H
#define PROGRAM_SANDBOX_LANDLOCK_H

#include <stdbool.h>

// The version that this kernel has; 0: none.
int landlock_version(void);

typedef struct landlock {
    int fd;
    int version;
} landlock;

// Begins a set of rules in which nothing is allowed. Returns: false when it cannot be had.
bool landlock_begin(landlock *rules);

// Lets files at and below the path be read, and folders be listed. One that is not there is passed over.
void landlock_read(const landlock *rules, const char *path);

// As landlock_read, for a folder in which files may be made, written and removed, too.
void landlock_write(const landlock *rules, const char *path);

// Puts the rules in force for the thread and those that it makes. no_new_privs must be set. Returns whether it is done.
bool landlock_end(landlock *rules);

#endif
