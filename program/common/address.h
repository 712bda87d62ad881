// SPDX-License-Identifier: MIT
//
// Addresses to listen on, as people write them: in shorter forms than the library takes.
#ifndef PROGRAM_COMMON_ADDRESS_H
#define PROGRAM_COMMON_ADDRESS_H

#include <stdbool.h>

enum {
    ADDRESS_OCTETS = 128,
    ADDRESS_PORT = 8080,
    ADDRESS_PORT_HTTP = 80,
    ADDRESS_PORT_HTTPS = 443
};

// Writes given with what it lacks: "8080" is a port of 127.0.0.1; "localhost", "0.0.0.0", "[::1]",
// "::1" and "*" get port. whole: untouched if nothing is lacking, or what is meant is not clear.
// Returns whether it was written.
bool address_complete(const char *given, unsigned port, char whole[ADDRESS_OCTETS]);

// Whether text is a number that a port can have, 0 among them.
bool address_is_port(const char *text, unsigned *port);

// Whether it is "fd:3", a listening socket that the program was started with.
bool address_is_fd(const char *address, unsigned *fd);

// Writes the same address with another port. Returns: false for a socket that has none, or is there.
bool address_with_port(const char *address, unsigned port, char whole[ADDRESS_OCTETS]);

// The port of an address; 0: it has none.
unsigned address_port(const char *address);

// Writes what a browser on this machine opens: "http://127.0.0.1:8080". address: as of
// skua_server_address; a Unix socket stays as it is. is_secure: by https.
void address_write_url(const char *address, bool is_secure, char url[ADDRESS_OCTETS]);

// Whether it is every address of this machine, and whether no other machine reaches it.
bool address_is_every(const char *address);
bool address_is_loopback(const char *address);

#endif
