// SPDX-License-Identifier: MIT
//
// Serving what a skua.conf says, and checking it.
#ifndef PROGRAM_CONF_SERVE_H
#define PROGRAM_CONF_SERVE_H

#include <stdbool.h>

// Serves until it is stopped. quiet: nothing is said but faults. Returns whether it was stopped, and did not
// fail; why has then been said.
bool conf_serve(const char *file, bool quiet);

// Says what is wrong in the file, or that nothing is.
bool conf_is_right(const char *file);

#endif
