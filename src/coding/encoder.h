// SPDX-License-Identifier: MIT
//
// Encoder: a content coding at work on one response. Each coding is a table of functions.
#ifndef SKUA_CODING_ENCODER_H
#define SKUA_CODING_ENCODER_H

#include "base/budget.h"
#include "base/slice.h"
#include "http/coding.h"

typedef struct encoder_table {
    // An encoder; NULL when there is no memory.
    // memory: counts its memory; NULL: it is not counted. octets: of the content; 0: not known.
    void *(*open)(lease *memory, skua_effort effort, size_t octets);
    // As skua_filter.run.
    skua_filtered (*run)(void *encoder, slice *content, skua_flush flush, char *out, size_t room,
                         size_t *octets);
    void (*close)(void *encoder);
} encoder_table;

// The encoder of a coding; NULL when it is not built in.
const encoder_table *encoder_of(content_coding coding);

#endif
