// SPDX-License-Identifier: MIT
//
// An echo server written on the io seam alone, over the simulated kernel. Its callbacks hold the
// backend to what io.h promises: anything against it stops the process.
#ifndef TESTS_ECHO_H
#define TESTS_ECHO_H

#include "io/sim.h"

enum { ECHO_OUT_HIGH = 20000 }; // it stops receiving when more is to be sent
enum { ECHO_SEGMENTS = 48 };
enum { ECHO_CONNECTS = IO_EVENTS_MAX - 1 }; // the table of streams that connect

typedef struct echo {
    io_stream stream;
    out_queue out;
    out_segment segments[ECHO_SEGMENTS]; // of out
    bool near_told, fin_told, reset_told, closing;
    bool connects;  // by echo_connect_out
    bool connected; // was told
    io_deadline deadline;
} echo;

typedef struct echo_bench {
    io_loop loop;
    pool echoes;
    block_store store;
    sim_kernel *kernel;
    io_op accept;
    bool stingy; // never reads: for what is told while receiving is stopped
    unsigned accepted, connected, refused, closed, evictions, kicks, timeouts;
    echo *last;
} echo_bench;

// Events carry no user pointer, so one bench runs at a time.
void echo_open(echo_bench *b, const sim_config *config);
void echo_turn(echo_bench *b, int64_t timeout_ns);
// Turns until nothing happens any more.
void echo_settle(echo_bench *b);
// Everything must have been given back.
void echo_finish(echo_bench *b);

sim_client *echo_connect(echo_bench *b);
// The echo server connects by itself, and echoes there too.
echo *echo_connect_out(echo_bench *b, const socket_address *to);
void echo_close(echo_bench *b, echo *e);

#endif
