// SPDX-License-Identifier: MIT
//
// Readiness: what the backends have in common that are told of readiness and then do the work
// themselves, epoll and kqueue. They wait, and say what became ready; receiving, sending,
// accepting, each turn's bounds, and what happens when descriptors run out are here.
#ifndef SKUA_IO_READINESS_H
#define SKUA_IO_READINESS_H

#include "io/turn.h"

enum { READINESS_OPS_MAX = 64 }; // listeners, wake-ups and polls of one loop

// Kinds of readiness that an event tells of.
enum {
    READY_IN = 1u << 0,
    READY_OUT = 1u << 1,
    READY_END = 1u << 2,  // the peer has ended its side, or both are closed
    READY_ERROR = 1u << 3 // the connection is dead
};

// The calls in which kernels differ. All are cold: mostly once in the life of a connection at most.
typedef struct readiness_poller {
    // Asks for the events of a stream, edge-triggered. Returns false if the kernel refuses.
    bool (*join)(io_loop *loop, io_stream *stream);
    // A joined stream took no more, and waits to be writable: the same for that. NULL: join asks
    // for both.
    bool (*join_out)(io_loop *loop, io_stream *stream);
    // A joined stream is about to be closed. NULL: that the descriptor closes is enough.
    void (*leave)(io_loop *loop, io_stream *stream);
    // Asks for the events of an ACCEPT, POLL or WAKE, level-triggered, by its slot. WAKE gets its
    // fd here.
    skua_status (*watch)(io_loop *loop, io_op *op);
    void (*forget)(io_loop *loop, io_op *op);
    // Stops, or starts again, telling about an ACCEPT.
    void (*mute)(io_loop *loop, io_op *op, bool mute);
    // Takes in what woke; returns whether that was io_wake.
    bool (*woken)(io_op *op);
} readiness_poller;

// The first member of the backend's own state.
typedef struct readiness {
    turn_state turn; // first
    const readiness_poller *poller;
    io_op *ops[READINESS_OPS_MAX];
    unsigned polls;                           // how many of ops are a POLL
    bool refused[READINESS_OPS_MAX];          // ACCEPT muted until the retry
    uint64_t listener_ids[READINESS_OPS_MAX]; // ACCEPT: which socket it was at first
    int64_t look_ns; // when listeners are looked at again; 0: there is none
} readiness;

// The key that a kernel gives back with an event: a stream's slot and generation, which is never 0,
// or an operation's slot.
static inline uint64_t readiness_stream_key(const io_stream *stream)
{
    return (uint64_t)stream->item.generation << 32 | stream->item.slot;
}

// Makes state, zeroed and the first member of the backend's own, what the loop goes by.
void readiness_open(io_loop *loop, readiness *state, const readiness_poller *poller);

// Starts what was submitted. A turn begins with it.
void readiness_begin(io_loop *loop);

// How long to wait at most, given what the turn was asked; -1: for ever.
int64_t readiness_wait_ns(const io_loop *loop, int64_t timeout_ns);

// One event of a turn. Polls are told first, all of them, then the rest: a change of a directory is
// seen before the requests that came behind it.
void readiness_tell_poll(io_loop *loop, uint64_t key);
void readiness_tell(io_loop *loop, uint64_t key, unsigned ready);

// The kernel refused what join or watch had asked for, and says so only now.
void readiness_refuse(io_loop *loop, uint64_t key);

// Ends a turn.
void readiness_end(io_loop *loop);

// Of io_backend.
void readiness_cancel(io_loop *loop, io_op *op);

#endif
