// SPDX-License-Identifier: MIT
//
// Ceilings share the answer, the way to find requests, and serving a connection by plain system
// calls. A ceiling is what this kernel lets any server do: it receives, finds blank lines and sends
// canned octets, one answer for each; it knows nothing else of HTTP. A server's cost per request is
// divided by its, measured side by side. Over HTTP/2 it finds frames, as ceiling_frames.h says.
//
// Every answer is the octets of --head followed by those of --file. From memory both leave in one
// send, pipelined answers in one send together; with --send file the content goes by sendfile in
// steps.
//
// Invariant: owed counts the octets still to be sent on a connection, and answers are all alike, so
// owed alone says where in an answer the next octet lies.
#ifndef BENCH_CEILING_H
#define BENCH_CEILING_H

#include <stdbool.h>
#include <stddef.h>

enum { CEILING_CONNS_MAX = 65536, CEILING_INPUT_OCTETS = 65536 };

typedef struct ceiling_conn {
    size_t owed;           // octets still to be sent
    unsigned char matched; // octets of CR LF CR LF seen at the end of the last read
    unsigned char flags;   // the loop's own
} ceiling_conn;

typedef struct ceiling {
    int listener, file;
    int port;
    bool close_after; // one request per connection
    bool by_sendfile;
    bool is_http2;                           // answers are frames, ceiling_frames.h
    const char *certificate, *key, *records; // of TLS, as they were given, or NULL
    size_t step;                             // octets per sendfile at most
    size_t head, answer;                     // octets of a head, of a whole answer
    char *canned;                            // as many answers as there are in one send
    size_t canned_octets;
    ceiling_conn conns[CEILING_CONNS_MAX]; // by descriptor
    char input[CEILING_INPUT_OCTETS];
} ceiling;

extern ceiling the;

typedef struct ceiling_octets {
    char *octets;
    size_t len;
} ceiling_octets;

// Ends the program, saying which call failed.
_Noreturn void ceiling_die(const char *what);

// Ends the program, saying what its options are.
_Noreturn void ceiling_usage(void);

// Loads a whole file.
ceiling_octets ceiling_file_load(const char *path);

// Reads the options, loads the answer and opens the listener.
void ceiling_open(int argc, char **argv);

// The state of a connection that was just accepted.
ceiling_conn *ceiling_conn_new(int fd);

// Adds an answer to what is owed for each blank line that the octets end, or each HEADERS frame.
void ceiling_count(ceiling_conn *c, const char *octets, size_t len);

// Receives all there is. Stops at a short read, unless the peer's FIN may have come with it
// (ending). Returns false when the connection is over.
bool ceiling_receive(int fd, ceiling_conn *c, bool ending);

// The octets in memory that are to be sent next.
const char *ceiling_owed(ceiling_conn *c, size_t *len);

// So many octets of them are no longer owed.
void ceiling_sent(ceiling_conn *c, size_t octets);

// Sends until nothing is owed or the socket is full. Returns false when the connection is over.
bool ceiling_send(int fd, ceiling_conn *c);

// With one request per connection the request has come with the accept (TCP_DEFER_ACCEPT), so that
// most connections live and die here. Returns false when it is over.
bool ceiling_serve_accepted(int fd, ceiling_conn *c);

#endif
