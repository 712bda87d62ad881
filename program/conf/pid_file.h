// SPDX-License-Identifier: MIT
//
// The file with the number of the process that serves a configuration.
#ifndef PROGRAM_CONF_PID_FILE_H
#define PROGRAM_CONF_PID_FILE_H

#include <stdbool.h>
#include <sys/types.h>

// Keeps the file from now on, with the number of this process, in the place of one that it kept. path: copied; NULL:
// no file is kept, and the one before is removed. Returns: false when it cannot be written, which has been said.
bool pid_file_keep(const char *path);

// The file with the number that a configuration names.
typedef struct pid_file_found {
    pid_t pid;      // 0: there is none
    uid_t owner;    // of the file; only with pid
    bool is_owners; // nobody but root and its owner can have written it, or put it there
} pid_file_found;

// Finds it, whatever faults the configuration has.
pid_file_found pid_file_of(const char *configuration);

#endif
