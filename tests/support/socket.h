// SPDX-License-Identifier: MIT
//
// Real sockets for tests that run a server in their own process.
#ifndef TESTS_SOCKET_H
#define TESTS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

// Connects to an address as skua_server_address gives it. Exits if that fails.
int socket_connect_to(const char *address);

// Connects as socket_connect_to does, with a receive buffer of so many octets, or a little more; 0:
// what the kernel likes.
int socket_connect_small(const char *address, int receive_octets);

// Reads a response that states its length, and puts a NUL behind it. Returns false if the end has come first.
bool socket_read_response(int fd, char *text, size_t room);

// Closes with a reset.
void socket_reset(int fd);

// Puts a signal back to its default, unblocked.
void signal_default(int number);

#endif
