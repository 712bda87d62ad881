// SPDX-License-Identifier: MIT
//
// Control groups (cgroups(7)) of Linux: the limits of those that this process is in.
#ifndef SKUA_THREAD_GROUPS_H
#define SKUA_THREAD_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

enum { GROUPS_TEXT_OCTETS = 4096 };

// The limit that the files in a group's folder state; 0: none. root, folder: the beginning of their
// path.
typedef uint64_t groups_limit(const char *root, const char *folder);

typedef struct groups_kind {
    groups_limit *version2;
    const char *controller; // of version 1
    groups_limit *version1;
    const char *mounts[2]; // where version 1 has it; NULL: nowhere else
} groups_kind;

// The least that the groups of this process (version 1 or 2) and those above them allow; 0:
// anything.
// root: the folder that stands for "/", without a slash at its end: "" but in tests.
uint64_t groups_least(const char *root, const groups_kind *kind);

// The whole of a small file, NUL-terminated; false when there is none, or it is not small.
bool groups_read(const char *root, const char *folder, const char *name,
                 char text[GROUPS_TEXT_OCTETS]);

// A decimal number at *at, which moves behind it; -1: there is none ("max", or "-1"), or it is so
// large that it means none.
int64_t groups_number(const char **at);

#endif
