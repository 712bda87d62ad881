// SPDX-License-Identifier: MIT
//
// The supervisor: the process that skua -c FILE is. It reads the configuration, opens sockets and the log, starts a
// server process with them, and starts another when that ends by itself. It speaks with nobody from the network.
#ifndef PROGRAM_SUPER_SUPER_H
#define PROGRAM_SUPER_SUPER_H

#include <stdbool.h>

// Serves until it is stopped. Returns whether it was stopped, and did not fail; why has then been said.
bool super_run(const char *file, bool quiet);

// Goes on from what another program has handed over to this process. Returns: as above.
bool super_go_on(int state);

#endif
