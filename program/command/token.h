// SPDX-License-Identifier: MIT
//
// skua token: makes a token of bearer_auth, and adds its hash to a file.
#ifndef PROGRAM_COMMAND_TOKEN_H
#define PROGRAM_COMMAND_TOKEN_H

#include <stdbool.h>

// Prints the token, which is nowhere else. One of the same name is replaced. Returns whether that is done; why not has
// been said.
bool conf_token(const char *file, const char *name);

#endif
