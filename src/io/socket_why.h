// SPDX-License-Identifier: MIT
//
// Why nobody can listen on an address, in words for whoever has typed it.
#ifndef SKUA_IO_SOCKET_WHY_H
#define SKUA_IO_SOCKET_WHY_H

#include "io/socket.h"

enum { SOCKET_WHY_OCTETS = 256 };

// Writes why socket_address_read did not take text: a sentence that quotes it.
void socket_address_why(slice text, char why[SOCKET_WHY_OCTETS]);

// Writes why socket_listen failed with status: a sentence that names the address. For the path of a
// Unix socket, the file system is asked what is there.
void socket_why(const socket_address *address, skua_status status, char why[SOCKET_WHY_OCTETS]);

#endif
