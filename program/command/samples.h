// SPDX-License-Identifier: MIT
//
// Samples: files of a few sizes in a temporary directory, to be served.
#ifndef PROGRAM_COMMAND_SAMPLES_H
#define PROGRAM_COMMAND_SAMPLES_H

#include <limits.h>
#include <stdbool.h>

enum { SAMPLES_COUNT = 5 };

// Their sizes in KiB, which are also their names.
extern const unsigned samples_kib[SAMPLES_COUNT];

typedef struct samples {
    char dir[PATH_MAX];
} samples;

// Makes them below $TMPDIR, or else /tmp. Returns whether it could; if not, it has said why and
// nothing is left.
bool samples_make(samples *s);

void samples_remove(const samples *s);

#endif
