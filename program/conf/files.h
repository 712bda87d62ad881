// SPDX-License-Identifier: MIT
//
// The files of a configuration: the main one and those that it includes, as one tree.
#ifndef PROGRAM_CONF_FILES_H
#define PROGRAM_CONF_FILES_H

#include "conf/reader.h"

enum {
    CONF_FILE_OCTETS_MAX = 1 << 20,
    CONF_FILES_MAX = 1000 // all together
};

// Returns: the first directive, or NULL when there is none. Faults are among the findings.
conf_directive *conf_files_read(const char *path, conf_findings *findings);

// The path that name means in a file: relative ones begin at the folder of that file. NULL: out of memory.
const char *conf_files_resolve(conf_memory *memory, const char *name, const char *file);

#endif
