// SPDX-License-Identifier: MIT
//
// Sink: a descriptor that lines are written to, and its state. A regular file that cannot be
// written, because its disk is full, may accept lines later, and so may a pipe whose reader stalls;
// a pipe without a reader never will.
#ifndef SKUA_LOG_SINK_H
#define SKUA_LOG_SINK_H

#include "base/slice.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

// The end of a file, at some time.
typedef struct sink_place {
    dev_t device;
    ino_t inode;
    off_t octets; // of a regular file; else 0
} sink_place;

typedef struct sink {
    int fd;
    bool keeps;        // a regular file: lines are kept for it. Else one asks before each write
    int error;         // the errno of the last attempt; 0: it works
    int64_t waited_ns; // for a reader, since the writer is to end
    sink_place end;    // after the last attempt
    bool stops_short;  // what was written last ends within a line
    atomic_uint_fast64_t lost; // lines that were given up so far
    uint64_t lost_told;        // and when sink_lost_now was last asked
} sink;

void sink_init(sink *s, int fd);

// Writes lines. Waits for a disk. A reader that stalls is asked again later, unless half is NULL,
// and from *ends on is waited for a second at most in all. Where the file ends within a line of
// somebody else, they begin on a line of their own; what others wrote can be seen only where the
// descriptor is open for reading, too.
// half: set to where a line of octets stopped, if one did: octets of the next call are its rest. The
// rest is given up if it cannot follow there any more, because the log was rotated or somebody else
// wrote. All zero: none. NULL: what cannot be written now is given up.
// Returns: how many are done with, written or given up.  s->error says whether it went well.
size_t sink_write(sink *s, sink_place *half, slice octets, const atomic_bool *ends);

// Why it does not work, in words.
const char *sink_why(const sink *s);

// How many lines were given up so far.  Thread: any.
uint64_t sink_lost(const sink *s);

// How many of them since it was last asked.
uint64_t sink_lost_now(sink *s);

#endif
