// SPDX-License-Identifier: MIT
//
// Findings: the faults of a configuration, each with its place.
#ifndef PROGRAM_CONF_FINDINGS_H
#define PROGRAM_CONF_FINDINGS_H

#include "conf/memory.h"

enum { CONF_FINDINGS_MAX = 100 }; // that are kept; the others are counted

// Lines and columns count from 1, and columns are characters.
typedef struct conf_place {
    const char *file;
    unsigned line, column;
} conf_place;

typedef struct conf_finding {
    conf_place at;
    const char *sentence;
    struct conf_finding *next;
} conf_finding;

typedef struct conf_findings {
    conf_memory *memory;
    conf_finding *first, *last;
    unsigned count;
} conf_findings;

__attribute__((format(printf, 3, 4))) void conf_find(conf_findings *findings, conf_place at,
                                                     const char *format, ...);

// Writes "file:line:column: sentence" for each to standard error.
void conf_findings_say(const conf_findings *findings);

#endif
