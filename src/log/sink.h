// SPDX-License-Identifier: MIT
//
// Sink: a descriptor that lines are written to, and its state. A regular file that cannot be
// written, because its disk is full, may accept lines later; a pipe without a reader never will.
#ifndef SKUA_LOG_SINK_H
#define SKUA_LOG_SINK_H

#include "base/slice.h"

#include <stdatomic.h>

typedef struct sink {
    int fd;
    bool keeps;    // a regular file: lines are kept for it. Else one asks before each write
    int waited_ms; // for a reader, since the writer is to end
    int error;     // the errno of the last attempt; 0: it works
    atomic_uint_fast64_t lost; // lines that were given up so far
    uint64_t lost_told;        // and when sink_lost_now was last asked
} sink;

void sink_init(sink *s, int fd);

// Writes octets. Waits for a disk, and for a reader until *ends, and then for a second at most in all.
// Returns: how many are done with, written or given up.  s->error says whether it went well.
size_t sink_write(sink *s, slice octets, const atomic_bool *ends);

// Why it does not work, in words.
const char *sink_why(const sink *s);

// How many lines were given up so far.  Thread: any.
uint64_t sink_lost(const sink *s);

// How many of them since it was last asked.
uint64_t sink_lost_now(sink *s);

#endif
