// SPDX-License-Identifier: MIT
//
// The listening sockets of the supervisor, by address. They stay open from server to server, so that clients wait in
// their queues while there is none.
#ifndef PROGRAM_SUPER_SOCKETS_H
#define PROGRAM_SUPER_SOCKETS_H

#include "conf/conf.h"

#include <stdio.h>

// Opens a socket for each address of the configuration that has none. Faults become its findings, and what was opened
// for it is closed.
bool super_sockets_open(conf *c);

// Sends the sockets of the configuration's addresses to a server. Returns: false when one cannot be sent.
bool super_sockets_send(const conf *c, int control);

// Tells a server which of the former configuration's addresses the next one has not.
void super_sockets_tell_gone(const conf *former, const conf *next, int control);

// Lets nobody begin to connect to those that the configuration has no address for. Who has begun is the server's to
// accept, while they stay.
void super_sockets_turn_away(const conf *c);

// Whether a client waits at one of those sockets.
bool super_sockets_are_awaited(const conf *c);

// Closes them.
void super_sockets_trim(const conf *c);

// Closes all, and removes the files of Unix sockets.
void super_sockets_close(void);

// Writes all of them for the program that takes this one's place; takes one that was written so. lend: makes a
// descriptor that the program inherits.
void super_sockets_save(FILE *to, int (*lend)(int fd));
bool super_sockets_restore(int fd, const char *address);

#endif
