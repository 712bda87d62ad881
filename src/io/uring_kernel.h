// SPDX-License-Identifier: MIT
//
// The state of the io_uring backend, which its files share. One half runs streams, the other
// operations and the turn.
#ifndef SKUA_IO_URING_KERNEL_H
#define SKUA_IO_URING_KERNEL_H

#include "io/turn.h"
#include "io/uring_ring.h"

#include <sys/socket.h>

enum {
    URING_OPS_MAX = 64,       // listeners, wake-ups and polls of one loop
    URING_SENDS_MAX = 256,    // sends that are submitted together
    URING_VECTORS = 8,        // segments of one send
    URING_NOW_OCTETS = 32768, // that are sent at once, and not with those of other streams
    URING_HELD_BUCKETS = 256,
    URING_FILE_SENDS = 32, // of a stream until its socket is put into the ring's table of files
    // Octets of one receive that goes on, and so what may come before it can be stopped. Arming the next for each 80 KiB
    // costs messages of 1 KiB up to a percent, so streams that bring short ones are armed for more.
    URING_MULTISHOT_OCTETS = 5 * URING_BUFFER_OCTETS,
    URING_MULTISHOT_SHORT_OCTETS = 10 * URING_BUFFER_OCTETS,
    URING_SHORT_PIECES = 64 // of one receive, from which on a stream brings short messages
};

// The thing that a completion is of: the low word of its user data, above the slot. The high word
// is the stream's generation.
typedef enum uring_kind {
    URING_OF_NOTHING,
    URING_OF_OP,
    URING_OF_RECEIVE,
    URING_OF_SEND,
    URING_OF_WAIT_OUT,
    URING_OF_WAIT_END,
    URING_OF_CANCEL,    // of something of a stream's; only told when it has found nothing
    URING_OF_OP_CANCEL, // of an operation
} uring_kind;

// Octets that came while receiving was stopped, oldest first.
typedef struct uring_held uring_held;

struct uring_held {
    uring_held *next;
    uint32_t slot; // whose they are
    size_t len;
    char octets[];
};

typedef struct uring_op {
    io_op *op;      // NULL: free, or cancelled
    uint8_t code;   // of the operation that the kernel has
    bool armed;     // the kernel has it
    bool refused;   // ACCEPT: not armed until the retry
    bool cancels;   // ACCEPT: the kernel has been asked to end it
    uint8_t spent;  // ACCEPT: of the reserve, since it last brought a connection
    uint64_t wakes; // WAKE: read from the eventfd
} uring_op;

// The message of one submission; the kernel reads it as it is submitted.
typedef struct uring_message {
    struct msghdr header;
    struct iovec iov[URING_VECTORS];
} uring_message;

typedef struct uring_kernel {
    turn_state turn; // first
    uring_ring ring;
    bool dead;      // the ring has failed: nothing is heard of it any more
    bool multishot; // receives are armed once; else once for each completion
    bool unarmed;   // some operation is to be armed
    unsigned polls; // POLLs that the kernel has
    uring_op ops[URING_OPS_MAX];
    unsigned send_count;
    pool_item sends[URING_SENDS_MAX]; // streams that send with the next submission
    uring_message messages[URING_SENDS_MAX];
    uring_held *held[URING_HELD_BUCKETS];
    uint8_t file_sends[URING_FILES]; // by slot: see uring_files.c
    uint8_t pieces[URING_FILES]; // by slot: that the receive has brought, up to URING_SHORT_PIECES
} uring_kernel;

// Fills in the cancelling of what was submitted with that key. It completes only if it has found
// nothing: the kernel had the operation in hand just then, or has completed it.
static inline void uring_cancel_fill(uring_sqe *sqe, uint64_t key)
{
    sqe->opcode = URING_ASYNC_CANCEL;
    sqe->flags = URING_SQE_SKIP_SUCCESS;
    sqe->addr = key;
}

static inline uint64_t uring_stream_key(uring_kind kind, const io_stream *stream)
{
    return (uint64_t)stream->item.generation << 32 | (uint64_t)kind << 24 | stream->item.slot;
}

// On big-endian machines the halves are swapped, so that the narrow field of old lies at its place.
static inline uint32_t uring_poll_events(uint32_t events)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return events << 16 | events >> 16;
#else
    return events;
#endif
}

#endif
