// SPDX-License-Identifier: MIT
//
// The server process: it gets everything from the supervisor over a socket, and ends when that is gone.
#ifndef PROGRAM_SUPER_SERVED_H
#define PROGRAM_SUPER_SERVED_H

#include <stdbool.h>

// The socket to the supervisor that started this process. -1: it is no server process.
int served_socket(void);

// Serves until the supervisor says to stop, or is gone. Returns whether that went well; why not has been said.
bool served_run(int control);

#endif
