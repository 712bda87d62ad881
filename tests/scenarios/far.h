// SPDX-License-Identifier: MIT
//
// Somebody else, whom the server under test connects to.
#ifndef TESTS_SCENARIOS_FAR_H
#define TESTS_SCENARIOS_FAR_H

#include "scenarios/script.h"

typedef enum far_kind {
    FAR_LISTENS,
    FAR_IS_NOBODY, // connecting is refused
    FAR_IS_SILENT, // connecting is not answered
} far_kind;

enum { FAR_QUEUE = 2 };

struct far {
    socket_address address;
    int listener;         // a real socket, or a simulated one; -1: none
    int queue[FAR_QUEUE]; // what fills the queue of a silent real one; -1: none
};

// Begins to be there, for /ask.
void far_open(run *r, far_kind kind);
void far_close(run *r);

// The far end of the next connection that the server opens. It says and expects what a client does.
client *far_accept(run *r);

#endif
