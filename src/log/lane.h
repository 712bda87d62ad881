// SPDX-License-Identifier: MIT
//
// Lane: whole lines on their way from one thread, the producer, to another, the writer. They lie in
// a chain of blocks, which grows when the writer is held up. Neither ever waits for the other.
#ifndef SKUA_LOG_LANE_H
#define SKUA_LOG_LANE_H

#include "base/budget.h"
#include "base/slice.h"

#include <stdatomic.h>

enum {
    LANE_BLOCK_OCTETS = 65536, // of memory; lines have a little less
    LANE_LINE_OCTETS_MAX = 32768,
    LANE_BLOCKS_MIN = 2 // that a lane may have whatever the others hold
};

typedef struct lane_block lane_block;

// The memory of several lanes.
typedef struct lane_memory {
    atomic_size_t octets; // of all their blocks
    size_t octets_max;    // beyond it a lane gets no third block
    budget *of; // counts blocks beyond those that a lane may have in any case; NULL: nobody does
} lane_memory;

typedef struct lane {
    // The producer's.
    _Alignas(64) lane_block *last; // the block that lines are added to
    lane_memory *memory;
    atomic_uint_fast64_t lost; // lines for which there was no memory
    atomic_uint made;          // blocks that were allocated
    // The writer's.
    _Alignas(64) lane_block *first; // the block that lines are taken from
    size_t taken;                   // octets of it that are done with
    uint64_t lost_told;
    atomic_uint freed; // blocks that were given back
    // Of both: a block to be used again, so that nothing is allocated while the writer keeps up.
    _Alignas(64) _Atomic(lane_block *) spare;
} lane;

typedef enum lane_pushed {
    LANE_ADDED,
    LANE_GREW, // the same, and a new block was begun
    LANE_LOST  // there was no room; it has been counted
} lane_pushed;

// Begins an empty lane. False when memory ran out.
bool lane_init(lane *l, lane_memory *memory);

// Gives everything back, lines that were not taken among it.  Neither side may use it any more.
void lane_deinit(lane *l);

// Adds a line of at most LANE_LINE_OCTETS_MAX octets.  Thread: the producer.
lane_pushed lane_push(lane *l, slice line);

// Lines to be written, valid until lane_take; none when the lane is empty.  Thread: the writer.
slice lane_peek(lane *l);

// Octets from the front are done with.  Thread: the writer.
void lane_take(lane *l, size_t octets);

// Whether there is nothing to be written.  Thread: the writer.
bool lane_is_empty(const lane *l);

// How many blocks the lane has.
unsigned lane_blocks(const lane *l);

// How many lines were lost so far.  Thread: any.
uint64_t lane_lost(const lane *l);

// How many of them since this was last asked.  Thread: the writer.
uint64_t lane_lost_now(lane *l);

#endif
