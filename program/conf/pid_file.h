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

// The number in the file that a configuration names, whatever faults that has. 0: there is none.
pid_t pid_file_of(const char *configuration);

#endif
