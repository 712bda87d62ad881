// SPDX-License-Identifier: MIT
//
// The simulated backend: a kernel in memory with a clock of its own, driven by one seed. Whole
// servers run on it, with clients that are plain function calls, and every fault a real kernel may
// answer with happens as often as the configuration says. The same seed and the same calls give the
// same run, octet for octet.
//
//     sim_config config = { .seed = 7, .permille = { [SIM_SHORT_RECV] = 500 } };
//     sim_kernel *kernel = sim_kernel_new(&config);
//     loop.kernel = kernel;
//     status = io_loop_open(&loop, &io_backend_sim);
//     accept.fd = sim_listen(kernel);
//     sim_client *client = sim_connect(kernel, accept.fd);
//     sim_client_send(client, SKUA_SLICE("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
//     while (!sim_client_is_eof(client)) status = io_turn(&loop, -1);
//
// One kernel may carry several loops; all on one thread, but for io_wake. Files are real ones.
#ifndef SKUA_IO_SIM_H
#define SKUA_IO_SIM_H

#include "io/socket.h"

#include <stdio.h>

// Events that may go wrong, or merely otherwise than one hoped.
typedef enum sim_fault {
    SIM_SHORT_RECV,         // a piece of what is there, in transit or in a receive
    SIM_SHORT_SEND,         // the socket takes a piece of what it has room for
    SIM_DELAY,              // a piece in transit, a connection or a completion comes later
    SIM_RECV_AGAIN,         // EAGAIN though there is input; it is tried again later
    SIM_SEND_AGAIN,         // EAGAIN though there is room
    SIM_NO_BUFFERS,         // ENOBUFS: the stream goes on later
    SIM_RESET,              // the network resets the connection
    SIM_REGISTER_NO_MEMORY, // the kernel cannot watch an accepted socket
    SIM_ACCEPT_NO_FILE,     // EMFILE
    SIM_ACCEPT_NO_MEMORY,   // ENOMEM
    SIM_ACCEPT_ABORTED,     // the connection died in the queue
    SIM_OPEN_NO_FILE,       // ENFILE
    SIM_OPEN_NO_MEMORY,     // ENOMEM
    SIM_SHORT_READ,         // a piece of what is there, in FILE_READ
    SIM_READ_FAILS,         // EIO, in FILE_READ and where a file is sent
    SIM_FILE_SHRINKS,       // sending a file answers 0 before its length
    SIM_CONNECT_REFUSED,    // nobody listens where a loop connects to
    SIM_CONNECT_NO_FILE,    // EMFILE
    SIM_CONNECT_UNANSWERED, // nobody ever answers there
    SIM_FAULTS
} sim_fault;

typedef struct sim_config {
    uint64_t seed;
    uint16_t permille[SIM_FAULTS]; // how likely each is, wherever it may happen; 1000 is always
    uint32_t recv_buffer_octets;   // of a server's socket; default 65536
    uint32_t send_buffer_octets;   // default 65536
    uint32_t descriptors_max;      // accepted sockets and open files together; default: any number
    int64_t delay_max_ns;          // default 5 ms
    int64_t unix_ns;               // the time of day at its beginning; default in November 2023
    FILE *trace;                   // a line for everything that happens, to read a failing seed by
} sim_config;

typedef struct sim_kernel sim_kernel;
typedef struct sim_client sim_client;

extern const io_backend io_backend_sim; // loop->kernel is a sim_kernel before it is opened

// NULL when memory ran out. Freed after the loops on it are closed; frees its clients.
sim_kernel *sim_kernel_new(const sim_config *config);
void sim_kernel_free(sim_kernel *kernel);

// Changes how likely a fault is from now on, as for a quiet end of a wild run.
void sim_set_permille(sim_kernel *kernel, sim_fault fault, uint16_t permille);
void sim_set_calm(sim_kernel *kernel); // all of them 0

int64_t sim_now(const sim_kernel *kernel);
uint64_t sim_random(sim_kernel *kernel); // from the same generator as everything else

// A number that sums up all that has happened: equal for equal runs.
uint64_t sim_hash(const sim_kernel *kernel);
uint64_t sim_fault_count(const sim_kernel *kernel, sim_fault fault);
// Accepted sockets, and files from FILE_OPEN, that have not been closed.
unsigned sim_sockets_open(const sim_kernel *kernel);
unsigned sim_files_open(const sim_kernel *kernel);
// Lets what is under way arrive, when no loop turns any more.
void sim_drain(sim_kernel *kernel);
// Nothing will happen any more unless a timer fires or the test does something.
bool sim_is_quiet(const sim_kernel *kernel);

// ---- Clients ----

// A listener, for an IO_ACCEPT. -1 when memory ran out.
int sim_listen(sim_kernel *kernel);
// Resets what waits in its queue; connecting to it is refused by a reset. Its ACCEPT is cancelled
// before.
void sim_listener_close(sim_kernel *kernel, int listener);

// Somebody else, whom loops can connect to at that address. -1: there are too many.
int sim_far_open(sim_kernel *kernel, const socket_address *at);
// The far end of the next connection that was made to it, which does all that clients do; NULL:
// none.
sim_client *sim_far_accept(sim_kernel *kernel, int far);

// Connects. NULL when memory ran out. The client is the kernel's.
sim_client *sim_connect(sim_kernel *kernel, int listener);

// Queues octets, which arrive in pieces and in order. False when memory ran out.
bool sim_client_send(sim_client *client, slice octets);
void sim_client_shutdown(sim_client *client);           // FIN after what was queued
void sim_client_reset(sim_client *client);              // RST now
void sim_client_pause(sim_client *client, bool paused); // reads no more, or again

// All octets so far; valid until the next turn.
slice sim_client_received(const sim_client *client);
// Octets that were queued and have not yet reached the server's socket.
size_t sim_client_unsent(const sim_client *client);
bool sim_client_is_eof(const sim_client *client);   // the server's FIN came after all it sent
bool sim_client_is_reset(const sim_client *client); // dead, by whoever's doing
// A fault has ended it, or the client itself by a reset, or there was no listener, rather than the
// server.
bool sim_client_is_victim(const sim_client *client);
// Frees one whose server's end is closed, before the kernel does: for very many on one kernel.
void sim_client_free(sim_client *client);

#endif
