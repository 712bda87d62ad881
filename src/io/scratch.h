// SPDX-License-Identifier: MIT
//
// Scratch files: files without a name, which the kernel forgets when the last descriptor is closed.
// All calls block.
#ifndef SKUA_IO_SCRATCH_H
#define SKUA_IO_SCRATCH_H

#include "base/slice.h"

// Where such files go when nobody says: $TMPDIR, or else /tmp.
const char *scratch_directory(void);

// Opens one in a directory, close-on-exec, readable by its owner only.
// Errors: SKUA_ENOENT no such directory; SKUA_EACCES; SKUA_ENOFILE; SKUA_ENOMEM; SKUA_EIO.
skua_status scratch_open(const char *directory, int *fd);

// Writes all octets at offset.  Errors: SKUA_EIO, also when the disk is full.
skua_status scratch_write(int fd, uint64_t offset, slice octets);

// Gives the file a name in a directory.
// Errors: SKUA_EEXIST; SKUA_EUNSUPPORTED it is of another file system, or this one cannot make
// files without a name;
// SKUA_ENOENT; SKUA_EACCES; SKUA_EIO.
skua_status scratch_link(int fd, int directory, const char *name);

#endif
