// SPDX-License-Identifier: MIT
//
// skua health: asks a running server's status listener whether it is alive, as containers without a client of their own do.
#ifndef PROGRAM_COMMAND_HEALTH_H
#define PROGRAM_COMMAND_HEALTH_H

#include <stdbool.h>

// address: of a status listener. Returns whether it says 200 within five seconds; why not has been said.
bool health_ask(const char *address);

#endif
