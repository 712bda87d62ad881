// SPDX-License-Identifier: MIT
//
// Configurations of the supervisor: read as a whole, with their sockets, and kept with the files that they were made of.
#ifndef PROGRAM_SUPER_CONF_H
#define PROGRAM_SUPER_CONF_H

#include "super/state.h"

// The faults of a configuration that is not taken.
typedef struct super_fault {
    unsigned count;                     // 0: it is no fault of the file
    char first[CONTROL_OCTETS_MAX / 2]; // a sentence
} super_fault;

// Reads the configuration, as a whole, and opens its sockets. Returns: false when it has faults, which have been said.
bool super_read(const char *file, super_conf *read, super_fault *fault);

// Reads it without opening anything. Returns: false as above.
bool super_check(const char *file, super_fault *fault);

void super_drop(super_conf *c);

// The server that serves was started with c, which is kept for as long; NULL: nobody was.
void super_started(super_state *s, const super_conf *c);

#endif
