// SPDX-License-Identifier: MIT
//
// File: an open file of a worker, with its references.
#ifndef SKUA_DISK_FILE_H
#define SKUA_DISK_FILE_H

#include "disk/home.h"

struct skua_file {
    skua_worker *worker;
    unsigned refs;
    int fd;
    bool is_scratch; // without a name: of a spool
};

// Stops the process unless it is a file of this thread's worker. function: that of skua.h.
static inline void file_expect(const skua_file *file, const char *function)
{
    if (!file) contract_broken(function, "file must not be NULL");
    if (!home_is_here(file->worker))
        contract_broken(function, "the file is another worker's; open it on each");
}

#endif
