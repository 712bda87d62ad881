// SPDX-License-Identifier: MIT
//
// Asker: a client over plain sockets, which keeps a few connections and asks on all of them at
// once.
#ifndef PROGRAM_COMMAND_ASKER_H
#define PROGRAM_COMMAND_ASKER_H

#include <stdbool.h>
#include <stddef.h>

enum { ASKER_CONNECTIONS = 16 };

typedef struct asker {
    int fds[ASKER_CONNECTIONS]; // -1: not open
} asker;

// Connects to a port of 127.0.0.1. Returns whether all connections are there; to be closed either
// way.
bool asker_open(asker *a, unsigned port);

// Asks for path on each connection, then reads the answers. Returns whether each was a 200 of so
// many octets of content.
bool asker_ask(asker *a, const char *path, size_t octets);

void asker_close(asker *a);

#endif
