// SPDX-License-Identifier: MIT
//
// Ceilings of WebSockets share how a message becomes its answer, and the listener. A ceiling receives a message, unmasks
// it in place, and sends it from there, to the connection that it came from, or with --publish to all connections, one
// send for each. It takes every first octets of a connection for a request, and a client's word for everything else:
// there is one message under way on a connection, in one frame.
#ifndef BENCH_SOCKET_CEILING_H
#define BENCH_SOCKET_CEILING_H

#include <stddef.h>

enum { SOCKET_CONNS_MAX = 8192, SOCKET_INPUT_OCTETS = 65536 + 64 };

typedef struct socket_answer {
    const char *octets; // NULL: the message is not whole
    size_t len;
} socket_answer;

// The answer to the request of the bench's client.
extern const char socket_accepted[];
extern const size_t socket_accepted_octets;

// Ends the program, saying which call failed.
_Noreturn void socket_die(const char *what);

// Makes the answer where the message lies. in: writable. A message that is longer than a ceiling has room for ends the
// program.
socket_answer socket_answer_to(char *in, size_t have);

// Returns: a listener on that port of 127.0.0.1 that does not block.
int socket_listen(int port);

#endif
