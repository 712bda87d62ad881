// SPDX-License-Identifier: MIT
//
// The simulated network: what the backend over it calls.
#ifndef SKUA_IO_SIM_NET_H
#define SKUA_IO_SIM_NET_H

#include "io/sim_kernel.h"

bool sim_pipe_push(sim_pipe *pipe, const char *octets, size_t len);
void sim_pipe_pop(sim_pipe *pipe, size_t len);
void sim_pipe_clear(sim_pipe *pipe);

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

// Puts octets on the wire of a socket, which has room for them. Returns: false when memory ran out: it is dead then.
bool sim_put(sim_client *client, const char *octets, size_t len);
// The backend's send_now.
size_t sim_send_now(const io_loop *loop, const io_stream *stream, const char *octets, size_t len);

// RST by the network, by the client, or by a closed socket.
void sim_break(sim_client *client, bool victim);
// Closes the server's end.
void sim_close(sim_client *client);

#endif
