// SPDX-License-Identifier: MIT
//
// The listeners of a running server, which follow its configuration: new ones are added before it
// takes effect, removed ones are emptied and closed after it.
#ifndef PROGRAM_CONF_LISTENERS_H
#define PROGRAM_CONF_LISTENERS_H

#include "conf/conf.h"

// The server listens at all addresses of c, in their order.
void conf_listeners_begin(skua_server *server, const conf *c);

// Adds those that only c has. fds: by the number of the address a socket, of which those that are used become -1;
// NULL: they are opened here. Returns: false when one cannot be added, and why is a sentence; those before it are there,
// until conf_listeners_remove is called with the configuration before.
bool conf_listeners_add(const conf *c, int *fds, char *why, size_t room);

// Removes those that c has not, on a thread of their own; conf_listeners_wait waits for it. then: called behind the
// last; may be NULL.
void conf_listeners_remove(const conf *c, void (*then)(void));

// Removes one more with the next conf_listeners_remove, whatever c has.
void conf_listeners_drop(const char *address);

// Waits for what is being removed, which a stop shortens.
void conf_listeners_wait(void);

#endif
