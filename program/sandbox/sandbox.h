// SPDX-License-Identifier: MIT
//
// The sandbox of a server process: what it may do is what serving its configuration needs.
#ifndef PROGRAM_SANDBOX_SANDBOX_H
#define PROGRAM_SANDBOX_SANDBOX_H

#include "conf/conf.h"

// Gives up all that the process does not need for the configuration, for good, and says what the kernel lacks for it.
// To be called before there are threads. Returns: false when it cannot become the user that it is to be, which has
// been said.
bool sandbox_enter(const conf *c);

// Whether the process can still read all that the configuration may have it read again. why: a sentence, when not.
bool sandbox_covers(const conf *c, char *why, size_t room);

#endif
