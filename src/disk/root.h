// SPDX-License-Identifier: MIT
//
// Roots: directories beneath which files are served.
#ifndef SKUA_DISK_ROOT_H
#define SKUA_DISK_ROOT_H

#include "io/file.h"

// The root's descriptor, which stays the root's.
int root_fd(const skua_root *root);

// A root's directory together with the kind of links that are followed beneath it.
file_root root_files(const skua_root *root);

// Whether looking anything up beneath it may ask another machine or process. See file_is_remote.
bool root_is_remote(const skua_root *root);

// A number that no other root of this process has, or had.
uint64_t root_id(const skua_root *root);

enum { ROOT_PATH_OCTETS = 4096 };

// Copies path to text, ended by NUL. False if it is longer than any path can be, or holds a NUL
// itself.
bool root_path(slice path, char text[ROOT_PATH_OCTETS]);

#endif
