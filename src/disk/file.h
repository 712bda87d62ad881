// SPDX-License-Identifier: MIT
//
// File: one that has been opened for a worker, and whoever still holds it.
#ifndef SKUA_DISK_FILE_H
#define SKUA_DISK_FILE_H

#include <skua/skua.h>

struct skua_file {
    skua_worker *worker;
    unsigned refs;
    int fd;
    bool is_scratch; // without a name: of a spool
};

#endif
