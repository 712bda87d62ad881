// SPDX-License-Identifier: MIT
//
// The three descriptors that every program is started with, or should be.
#ifndef PROGRAM_STREAMS_H
#define PROGRAM_STREAMS_H

#include <stdbool.h>

// Opens those of 0 to 2 that are closed on /dev/null. Before anything else is opened: a socket that
// gets such a number would be sent what is meant for a person. Returns false when that fails.
bool streams_complete(void);

#endif
