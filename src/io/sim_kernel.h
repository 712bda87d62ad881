// SPDX-License-Identifier: MIT
//
// The state of the simulated kernel, which its files share. The net half moves octets between
// clients and sockets; the backend half runs operations on sockets.
#ifndef SKUA_IO_SIM_KERNEL_H
#define SKUA_IO_SIM_KERNEL_H

#include "io/sim.h"

enum {
    SIM_FD_FIRST = 1 << 24, // handles of sockets: no real descriptor is that large
    SIM_LISTENER_FIRST = 1 << 28,
    SIM_LISTENERS_MAX = 16,
    SIM_FARS_MAX = 8
};

// Octets in order. Grows; what is popped is moved over when there is more of it than of the rest.
typedef struct sim_pipe {
    char *octets;
    size_t start, len, room;
} sim_pipe;

typedef enum sim_stage {
    SIM_QUEUED,   // connected, not accepted
    SIM_ACCEPTED, // the server has a descriptor
    SIM_BOUND,    // and a stream
    SIM_CLOSED    // the server's end is gone
} sim_stage;

// One connection with both its ends.
struct sim_client {
    sim_client *next; // all of the kernel's
    sim_kernel *kernel;
    uint32_t id;
    int listener; // -1: a loop has connected to
    int far;      // this one; -1 for what it has connected to nobody
    bool taken;   // by sim_far_accept
    bool unanswered;
    sim_stage stage;
    // The client's end.
    sim_pipe outbox; // queued, not at the server's socket
    sim_pipe received;
    bool fin_queued, paused, eof, reset, victim;
    int64_t up_ns;   // the next piece arrives at the server's socket not before
    int64_t down_ns; // and at the client
    // The server's end.
    sim_pipe inbox; // the receive buffer
    sim_pipe wire;  // the send buffer and what is under way
    bool fin_arrived, fin_sent;
    bool dead;      // a reset has arrived
    bool unwatched; // the kernel had no memory to watch it
    io_loop *loop;
    io_stream *stream;
    int64_t run_ns;  // the next completion comes not before,
    int64_t recv_ns; // nor input,
    int64_t send_ns; // nor room
    uint64_t turn_sent;
    bool full_is_told; // the owner knows that nothing more can be sent
    unsigned turn_reads;
    bool turn_kicked;
    bool turn_over; // goes on in the next turn
};

typedef struct sim_listener {
    bool open;
    bool paused; // for want of descriptors or memory
    int64_t retry_ns;
    unsigned turn_accepts;
} sim_listener;

// An operation that is under way.
typedef struct sim_work {
    io_op *op;
    int64_t due_ns;      // FILE_*: when it completes
    uint64_t wakes_seen; // WAKE
} sim_work;

struct sim_kernel {
    sim_config config;
    uint64_t random;
    uint64_t hash;
    int64_t now_ns;
    int64_t unix_offset_ns; // of the time of day from it
    uint64_t faults[SIM_FAULTS];
    unsigned sockets_open, files_open;
    sim_client *clients;
    uint32_t client_count;
    sim_client **live; // those with which anything can still happen, in order of connecting
    size_t live_count, live_room;
    sim_listener listeners[SIM_LISTENERS_MAX];
    socket_address fars[SIM_FARS_MAX];
    int far_count;
    sim_work *works;
    size_t work_count, work_room;
    _Atomic uint64_t wakes; // calls of io_wake; every WAKE of the kernel hears of them
};

#endif
