// SPDX-License-Identifier: MIT
//
// Status: a server of its own, beside the one that it tells of, so that it answers when that one is full.
#ifndef PROGRAM_STATUS_STATUS_H
#define PROGRAM_STATUS_STATUS_H

#include <skua/skua.h>

typedef struct status_listener status_listener;

// Listens at the address, or on a socket of it that is open already, which becomes the listener's; fd -1: there is none.
// /ready says no until status_of is called. *why: a sentence, when NULL is returned; valid until the next call.
status_listener *status_open(const char *address, int fd, const char **why);

// Lets another process answer at its address: it accepts no more, event streams end, and other clients go with their
// next responses.  Thread: any.
void status_leave(status_listener *status);

// How many connections are open. NULL: none.
unsigned status_connections(const status_listener *status);

// Tells of that server from now on, which has started.
void status_of(status_listener *status, skua_server *server);

// Before the server that it tells of is freed. NULL is allowed.
void status_close(status_listener *status);

// The address that it listens at.
const char *status_address(const status_listener *status);

#endif
