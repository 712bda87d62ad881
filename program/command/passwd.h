// SPDX-License-Identifier: MIT
//
// skua passwd: adds a user of basic_auth to a file, or changes the password.
#ifndef PROGRAM_COMMAND_PASSWD_H
#define PROGRAM_COMMAND_PASSWD_H

#include <stdbool.h>

// Asks for the password twice on a terminal; else it is the line that standard input has. Others see the file as it
// was, or as it is then. Returns whether that is done; why not has been said.
bool conf_passwd(const char *file, const char *name);

#endif
