// SPDX-License-Identifier: MIT
//
// Ceilings of WebSockets share how a message becomes its answer, and the listener. A ceiling receives a message, unmasks
// it in place, and sends it from there, to the connection that it came from, or with --publish to all connections, one
// send for each. It takes every first octets of a connection for a request, and a client's word for everything else:
// there is one message under way on a connection, in one frame.
//
// A loop, socket_ceiling_epoll.c or socket_ceiling_uring.c, is linked with what stands between it and the messages: nothing
// in socket_ceiling_clear.c, and TLS 1.3 in socket_ceiling_tls.c, where a message comes in one record.
#ifndef BENCH_SOCKET_CEILING_H
#define BENCH_SOCKET_CEILING_H

#include <stdbool.h>
#include <stddef.h>

enum { SOCKET_CONNS_MAX = 8192, SOCKET_INPUT_OCTETS = 65536 + 64 };

typedef struct socket_answer {
    const char *octets; // NULL: what came is not whole
    size_t len;         // 0: nothing is to be sent
    bool is_message;    // and not part of what opens a connection
} socket_answer;

// The answer to the request of the bench's client.
extern const char socket_accepted[];
extern const size_t socket_accepted_octets;

// Ends the program, saying which call failed.
_Noreturn void socket_die(const char *what);

// Makes the answer where the message lies. in: writable. A message that is longer than a ceiling has room for ends the
// program.
socket_answer socket_echo(char *in, size_t have);

// Returns: a listener on that port of 127.0.0.1 that does not block.
int socket_listen(int port);

// ---- socket_ceiling_clear.c or socket_ceiling_tls.c ----

// The words of the program.
void socket_prepare(int argc, char **argv);

// A connection was accepted; it ends.
void socket_begin(int fd);
void socket_end(int fd);

// The answer to what has come since the last one. in: writable; the answer may lie there.
socket_answer socket_answer_to(int fd, char *in, size_t have);

#endif
