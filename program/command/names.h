// SPDX-License-Identifier: MIT
//
// Names: files of lines "name:hash", as skua passwd and skua token write them.
#ifndef PROGRAM_COMMAND_NAMES_H
#define PROGRAM_COMMAND_NAMES_H

#include <stdbool.h>

enum { CONF_NAME_OCTETS_MAX = 255 };

// Whether a name may stand in such a file; why not has been said.
bool conf_names_is_name(const char *name);

// Puts a line in place of that of the same name, or behind all others. A file that is not there is made, for its owner
// and its group. Others see the file as it was, or as it is then. Returns whether that is done.
bool conf_names_put(const char *file, const char *name, const char *hash);

#endif
