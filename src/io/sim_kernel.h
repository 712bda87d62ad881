// SPDX-License-Identifier: MIT
//
// What the files of the simulated kernel share: its state. The net half moves octets between
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

bool sim_pipe_push(sim_pipe *pipe, const char *octets, size_t len);
void sim_pipe_pop(sim_pipe *pipe, size_t len);
void sim_pipe_clear(sim_pipe *pipe);

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

// Whether the fault happens now; counted if so.
bool sim_chance(sim_kernel *kernel, sim_fault fault);
// 0 .. n - 1; n > 0
uint64_t sim_below(sim_kernel *kernel, uint64_t n);
// n, or a piece of it (at least 1) if the fault happens. n > 0
size_t sim_piece(sim_kernel *kernel, sim_fault fault, size_t n);
// Now, or later if SIM_DELAY happens.
int64_t sim_delayed(sim_kernel *kernel);
// A moment later than now.
int64_t sim_soon(sim_kernel *kernel);
// Adds to the hash and the trace.
void sim_note(sim_kernel *kernel, const char *what, uint32_t id, uint64_t n);

// Moves what is due between clients and sockets.
void sim_deliver(sim_kernel *kernel);
// When something will be due; INT64_MAX: never.
int64_t sim_transit_ns(const sim_kernel *kernel);

sim_client *sim_find(sim_kernel *kernel, int fd); // NULL: not a socket's handle
sim_listener *sim_find_listener(sim_kernel *kernel, int fd);
// The first connection in the listener's queue that has arrived; NULL: none.
sim_client *sim_queued(sim_kernel *kernel, int listener);

// Begins a connection from a loop to the far end at that address. NULL when memory ran out.
sim_client *sim_connect_out(sim_kernel *kernel, const socket_address *to);

// RST by the network, by the client, or by a closed socket.
void sim_break(sim_client *client, bool victim);
// Closes the server's end.
void sim_close(sim_client *client);

#endif
