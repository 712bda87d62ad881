// SPDX-License-Identifier: MIT
//
// Roots that vanish. A folder is opened once and served by its descriptor, so one that is moved away goes on to be
// served, and one that takes its place has to be opened anew.
#ifndef PROGRAM_CONF_ROOTS_H
#define PROGRAM_CONF_ROOTS_H

#include "conf/conf.h"

// Remembers which folder a root is.
void conf_root_note(conf_root *root, const char *path);

// Looks whether the roots are still the folders that they were. say: is told of each that has gone or come back.
// Returns: whether one is another folder since the last look, so that the configuration is to be read again.
bool conf_roots_look(conf *c, void (*say)(const char *line));

#endif
