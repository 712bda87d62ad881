// SPDX-License-Identifier: MIT
//
// Encoder: a content coding at work on one response. Each coding is a table of functions.
#ifndef SKUA_CODING_ENCODER_H
#define SKUA_CODING_ENCODER_H

#include "base/budget.h"
#include "base/slice.h"

typedef struct encoder_table {
    // An encoder whose memory is counted; NULL when there is none.
    void *(*open)(lease *memory);
    // As skua_filter.run.
    skua_filtered (*run)(void *encoder, slice *content, skua_flush flush, char *out, size_t room,
                         size_t *octets);
    void (*close)(void *encoder);
} encoder_table;

#endif
