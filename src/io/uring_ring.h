// SPDX-License-Identifier: MIT
//
// The rings that are shared with the kernel: submissions, completions, and buffers to receive into.
// A ring belongs to the thread that enables it, and nobody else may enter it.
#ifndef SKUA_IO_URING_RING_H
#define SKUA_IO_URING_RING_H

#include "io/uring_abi.h"

#include <skua/skua.h>

#include <stdatomic.h>
#include <stdbool.h>

enum {
    URING_SQ_ENTRIES = 1024,
    URING_CQ_ENTRIES = 4096,
    URING_BUFFERS = 128,
    URING_BUFFER_OCTETS = 16384,
    URING_FILES = 16384 // in the ring's table, at most
};

typedef struct uring_ring {
    int fd; // -1: not open
    bool enabled;
    char *rings; // head, tail and completions
    size_t rings_octets;
    uring_sqe *sqes;
    _Atomic uint32_t *sq_head, *sq_tail, *sq_flags;
    uint32_t sq_mask, sq_entries;
    uint32_t sq_local; // the tail with what the kernel has not been told of
    _Atomic uint32_t *cq_head, *cq_tail;
    uint32_t cq_mask;
    uring_cqe *cqes;
    uring_buffer *buffers; // a ring of their own
    char *octets;          // what the buffers are
    uint16_t buffers_tail;
    uint32_t files; // places in its table of files; 0: there is none
} uring_ring;

// Opens a disabled ring with buffers, on a thread that ends with that. The thread that enables it
// is to end too: the kernel interrupts whoever has used a ring, when it was closed.
// *call: on failure, the system call that failed.
// Errors: SKUA_EACCES a sandbox or a setting of the system's forbids it; SKUA_EUNSUPPORTED the
// kernel lacks something; SKUA_ENOMEM, SKUA_ENOFILE.
skua_status uring_ring_open(uring_ring *ring, const char **call);
void uring_ring_close(uring_ring *ring);

// Makes it the calling thread's.
// *call and errors: as uring_ring_open.
skua_status uring_ring_enable(uring_ring *ring, const char **call);

// Room for a submission, zeroed; NULL when there is none even after submitting what was queued.
uring_sqe *uring_ring_submission(uring_ring *ring);

// Submits what is queued and makes completions that are due. Waits at most timeout_ns (-1: for
// ever) for one if there is none. What the kernel would not take now stays queued.
skua_status uring_ring_enter(uring_ring *ring, int64_t timeout_ns);

// How many submissions the kernel has not taken.
static inline uint32_t uring_ring_queued(const uring_ring *ring)
{
    return ring->sq_local - atomic_load_explicit(ring->sq_head, memory_order_acquire);
}

static inline bool uring_ring_has_completion(const uring_ring *ring)
{
    uint32_t head = atomic_load_explicit(ring->cq_head, memory_order_relaxed);
    return head != atomic_load_explicit(ring->cq_tail, memory_order_acquire);
}

// Whether completions are to be taken, now or after the next entering.
static inline bool uring_ring_owes(const uring_ring *ring)
{
    return uring_ring_has_completion(ring) ||
           (atomic_load_explicit(ring->sq_flags, memory_order_relaxed) & URING_SQ_CQ_OVERFLOW);
}

// Takes the next completion; false: there is none.
static inline bool uring_ring_take(uring_ring *ring, uring_cqe *cqe)
{
    if (!uring_ring_has_completion(ring)) return false;
    uint32_t head = atomic_load_explicit(ring->cq_head, memory_order_relaxed);
    *cqe = ring->cqes[head & ring->cq_mask];
    atomic_store_explicit(ring->cq_head, head + 1, memory_order_release);
    return true;
}

static inline char *uring_ring_buffer(const uring_ring *ring, uint32_t id)
{
    return ring->octets + (size_t)id * URING_BUFFER_OCTETS;
}

// Gives a buffer back to the kernel.
void uring_ring_give(uring_ring *ring, uint32_t id);

// Puts a descriptor's file into the table, or with -1 takes out what is there.  place: below files.
// Returns: whether the kernel has done so.
bool uring_ring_set_file(const uring_ring *ring, uint32_t place, int fd);

// Gives up the table and what is in it.
void uring_ring_drop_files(uring_ring *ring);

// Whether this process can use rings: opens one, enables it and runs it once, on a thread of its
// own.
// *call and errors: as uring_ring_open.
skua_status uring_ring_probe(const char **call);

#endif
