// SPDX-License-Identifier: MIT
//
// Output queue: the only way octets reach a transport. Segments leave in order.
// Invariant: octets equals the sum of the segments' lengths. Sessions push; transports pop what has left.
#ifndef SKUA_BASE_OUT_H
#define SKUA_BASE_OUT_H

#include "base/assert.h"
#include "base/block.h"

typedef enum out_kind {
    OUT_COPIED, // octets in a block, which the segment holds a reference to
    OUT_LENT,   // octets of somebody else's, given back by release
    OUT_FILE    // octets of a file, given back by release
} out_kind;

typedef void out_release(void *user);

typedef struct out_segment {
    union {
        const char *ptr; // COPIED, LENT: the next octet
        uint32_t label;  // FILE: of the one who queues it
    };
    uint64_t offset;      // FILE: of the next octet
    uint64_t len;         // octets left
    block *owner;         // COPIED
    out_release *release; // LENT, FILE: called once, may be NULL
    void *user;
    int file; // FILE: the io file
    uint8_t kind;
    bool failed;       // FILE: it could not be read to its end
    uint16_t headroom; // LENT: octets before ptr that the one who sends may write to
} out_segment;

// The last ones are kept free for the framing around what is lent: a queue needs more than these.
enum { OUT_SEGMENTS_KEPT = 4, OUT_SEGMENTS_MAX = 255 };

typedef struct out_queue {
    block_store *store;
    block *tail; // the block that copied octets go to; one reference is the queue's
    char *at;    // its free room, of left octets
    // the last segment if it ends at at, so that copied octets go on in it; else NULL
    out_segment *open;
    uint64_t octets;
    uint64_t total_in; // since init: see out_has_left
    union {
        out_segment *segments; // a ring, the owner's
        // Where room is 0, as the owner has taken the segments back: sets others. False when memory ran out.
        bool (*refill)(struct out_queue *out);
    };
    uint32_t left;
    uint8_t first, count, room;
} out_queue;

_Static_assert(sizeof(out_queue) <= 64,
               "each response needs all of it: a line of the processor's cache");

// segments: room of them, more than OUT_SEGMENTS_KEPT and at most OUT_SEGMENTS_MAX. They belong to
// the caller and live as long as the queue; they need not be set.
void out_init(out_queue *out, block_store *store, out_segment *segments, unsigned room);

// Releases everything that is still queued, and the block kept for the next octets. The queue is
// empty then, may be used again, and holds no memory.
void out_deinit(out_queue *out);

// Gives back the block that is kept for the next octets, where nothing is queued.
void out_rest(out_queue *out);

// How many octets have left since init. A response has left when this reaches what total_in was behind it.
static inline uint64_t out_has_left(const out_queue *out)
{
    return out->total_in - out->octets;
}

static inline bool out_is_full(const out_queue *out)
{
    return out->count + OUT_SEGMENTS_KEPT >= out->room;
}

// How many segments there may be before it is full.
static inline unsigned out_segments_left(const out_queue *out)
{
    return out_is_full(out) ? 0 : out->room - OUT_SEGMENTS_KEPT - (unsigned)out->count;
}

// Whether more than half of what there may be is in use: of so many octets, or of the segments.
static inline bool out_is_crowded(const out_queue *out, uint64_t octets_max)
{
    return out->octets > octets_max / 2 || out_segments_left(out) < out->room / 2u;
}

static inline out_segment *out_segment_at(out_queue *out, unsigned i)
{
    unsigned at = out->first + i;
    return &out->segments[at < out->room ? at : at - out->room];
}

// The slow half of out_reserve: another block, or a reason to refuse.
__attribute__((noinline)) char *out_reserve_slow(out_queue *out, size_t need, size_t *room);

// Room for at least need octets (at most BLOCK_OCTETS) in one piece, to be written and then
// committed before anything else is done with the queue; *room, if not NULL, says how many there
// really are.
// NULL when memory or segments ran out.
static inline char *out_reserve(out_queue *out, size_t need, size_t *room)
{
    size_t left = out->left;
    if (left < need || left == 0 || out->count == out->room)
        return out_reserve_slow(out, need, room);
    if (room) *room = left;
    return out->at;
}

// The slow half of out_commit: a segment that has to begin.
__attribute__((noinline)) void out_commit_slow(out_queue *out, size_t n);

// n octets, at most as many as were reserved, are now queued.
static inline void out_commit(out_queue *out, size_t n)
{
    SKUA_ASSERT(n <= out->left);
    if (!out->open) {
        out_commit_slow(out, n);
        return;
    }
    out->open->len += n;
    out->at += n;
    out->left -= (uint32_t)n;
    out->octets += n;
    out->total_in += n;
}

// n octets (at least one, at most BLOCK_OCTETS) are queued, to be written where the answer says before anything else
// is done with the queue: out_reserve and out_commit in one. NULL when memory or segments ran out.
char *out_append(out_queue *out, size_t n);

// Copies octets in. False when memory or segments ran out; some may be queued then.
bool out_copy(out_queue *out, slice octets);

// Lends octets. Not to be called when out_is_full. release is called once: when the last octet has
// left, in out_deinit, or, for no octets, before this returns.
void out_lend(out_queue *out, slice octets, out_release *release, void *user);

// The same, where so many octets before them may be written to by the thread of the queue: what is queued before
// them can then leave in one piece with them.
void out_lend_behind(out_queue *out, uint16_t headroom, slice octets, out_release *release,
                     void *user);

// Queues the first len octets of a block, at least one, and takes it. Not to be called when
// out_is_full. *b is NULL afterwards.
void out_give(out_queue *out, block **b, size_t len);

// Queues a range of an io file, as out_lend does octets.
void out_file(out_queue *out, int file, uint64_t offset, uint64_t len, out_release *release,
              void *user);

// Everything has left, which was one segment that was copied: afterwards the queue holds no memory.
void out_clear(out_queue *out);

// n octets from the front have left. Releases what has left whole; a release may push to the queue.
void out_pop(out_queue *out, uint64_t n);

#endif
