// SPDX-License-Identifier: MIT
//
// The rings that the ceiling on io_uring shares with the kernel: submissions, completions, and
// buffers to receive into. There is one, of the only thread.
#ifndef BENCH_CEILING_RING_H
#define BENCH_CEILING_RING_H

#include "io/uring_abi.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { RING_BUFFERS = 256, RING_BUFFER_OCTETS = 8192 };

// Parts of io_uring that the ceiling uses and the server does not: sockets that live in a table of
// the ring's only, by the name of direct descriptors. An operation that opens or closes one has a
// slot where a receive has its optlen.
enum { RING_OP_CLOSE = 19, RING_OP_FILES_UPDATE = 20 };
enum { RING_SQE_DIRECT = 1 << 0, RING_SQE_LINK = 1 << 2 };
static const uint32_t ring_any_slot = UINT32_MAX;

typedef struct ring_state {
    int fd;
    _Atomic uint32_t *sq_head, *sq_tail, *cq_head, *cq_tail;
    uint32_t sq_mask, sq_entries, cq_mask;
    uint32_t sq_local; // the tail with what the kernel has not been told of
    uring_sqe *sqes;
    uring_cqe *cqes;
    uring_buffer *buffers; // a ring of their own
    char *octets;          // what the buffers are
    uint16_t buffers_tail;
} ring_state;

extern ring_state ring;

// Opens it with an empty table of direct descriptors, or ends the program saying what the kernel
// refused.
void ring_open(void);

// A submission for a descriptor, else zeroed. The user data of its completions have the kind in their
// upper word, above the descriptor.
uring_sqe *ring_submission(uint8_t opcode, int fd, uint32_t kind);

// Submits everything, and waits until there is a completion.
void ring_turn(void);

// Gives a buffer back to the kernel.
void ring_give(uint32_t id);

static inline char *ring_buffer(uint32_t id)
{
    return ring.octets + (size_t)id * RING_BUFFER_OCTETS;
}

// Takes the next completion; false: there is none.
static inline bool ring_take(uring_cqe *cqe)
{
    uint32_t head = atomic_load_explicit(ring.cq_head, memory_order_relaxed);
    if (head == atomic_load_explicit(ring.cq_tail, memory_order_acquire)) return false;
    *cqe = ring.cqes[head & ring.cq_mask];
    atomic_store_explicit(ring.cq_head, head + 1, memory_order_release);
    return true;
}

#endif
