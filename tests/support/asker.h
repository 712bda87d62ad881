// SPDX-License-Identifier: MIT
//
// A small client inside a worker of a server: it opens a connection in the worker's own loop, sends
// some octets, and waits for so many in return. Then the connection rests until it is closed.
#ifndef TESTS_ASKER_H
#define TESTS_ASKER_H

#include "io/socket.h"
#include "server/endpoint.h"

typedef enum asking_outcome {
    ASKING_GOES_ON,
    ASKING_ANSWERED, // as many octets came as were wanted
    ASKING_REFUSED,  // it could not connect
    ASKING_TIMED_OUT,
    ASKING_ENDED, // the peer has ended the connection before
    ASKING_RESET,
    ASKING_ABORTED, // by the worker, which ends
} asking_outcome;

typedef struct asking asking;

enum { ASKING_SEGMENTS = 8 };

struct asking {
    server_worker *worker;
    endpoint *end; // NULL: there is no connection, or none any more
    out_queue out;
    out_segment segments[ASKING_SEGMENTS]; // of out
    bool connected, resting;
    skua_status refusal; // why it is not connected
    asking_outcome outcome;
    char *got; // room for as many octets as are wanted
    size_t got_octets, wanted;
    void (*told)(asking *a); // there is an outcome; never called from within asking_begin
    void *user;
};

// Begins to ask. a: got, wanted, told and user are set; stays until asking_is_over.
// request: copied.  timeout_ns: for everything.
// Returns false when there is no memory.
bool asking_begin(asking *a, server_worker *w, const socket_address *to, slice request,
                  int64_t timeout_ns);

// Closes the connection if it is open. Nothing is told any more.
void asking_drop(asking *a);

// Whether the connection has been given back to the worker's pool.
bool asking_is_over(const asking *a);

#endif
