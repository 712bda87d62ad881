// SPDX-License-Identifier: MIT
//
// Sources: the files of a configuration. The supervisor reads them from the disk and keeps the
// content, so that each server process, also a replacement, begins with the same configuration,
// whatever happens to the files.
#ifndef PROGRAM_COMMON_SOURCE_H
#define PROGRAM_COMMON_SOURCE_H

#include <glob.h>
#include <stdbool.h>

enum { SOURCE_OCTETS_MAX = 64 << 20 }; // of all files that are kept

// Opens a file of the configuration for reading. may_flow: it may be a pipe, which is read to its end.
// Returns: as open.
int source_open(const char *path, bool may_flow);

// Finds the files of a pattern. Returns: as glob, and found is to be freed by source_glob_free.
int source_glob(const char *pattern, glob_t *found);
void source_glob_free(glob_t *found);

// Keeps what is read from now on, until source_kept.
void source_keep(void);

// Returns: a descriptor of what was kept, for source_from, which is the caller's; -1: it could not be kept.
int source_kept(void);

// Takes files from what was kept, until the call with -1. fd: stays the caller's. Returns: false when it cannot be
// read.
bool source_from(int fd);

// Whether files are taken from there.
bool source_is_given(void);

#endif
